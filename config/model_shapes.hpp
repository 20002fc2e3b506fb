// The keys `shapes` and `pad` of a [[model]]: one shape or several for inputs that its file leaves open.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "config/reader.hpp"
#include "messages/cluster/cluster.hpp"

namespace troupe {

struct model_shapes {
  struct alternative {
    std::string name;  ///< "3x320x320"; of a padded shape its length: "64"
    std::vector<input_shape> inputs;
  };
  std::vector<alternative> alternatives;  ///< one at least; without `shapes` and `pad` one without inputs
  std::optional<padding_spec> padding;
  bool any_shape = false;  ///< requests in none of these run, too

  /// Requests choose among shapes.
  bool several() const { return alternatives.size() > 1 || padding || any_shape; }
};

/// `batched`: the shapes are those of a row. Takes both keys.
model_shapes read_model_shapes(section& s, bool batched);

}  // namespace troupe
