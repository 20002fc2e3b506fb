// An input as a request describes it, before it is compared with the model. Private to transport/kserve;
// errors are thrown as http_error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/kserve/json.hpp"

namespace troupe::kserve {

struct given_input {
  std::string name, type;
  std::vector<int64_t> shape;
  std::string_view data;
  std::optional<uint64_t> binary_size;
  bool has_name = false, has_type = false, has_shape = false, has_data = false, has_parameters = false;
};

/// The element `index` of "inputs". Only its name is required. `data` is not looked at.
given_input read_input(json_reader& in, size_t index);

}  // namespace troupe::kserve
