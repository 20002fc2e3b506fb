// The files of tensor models that a node wants in its memory, and the models whose loading waits for them.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "messages/scaling/image_transfer.hpp"

namespace troupe {

/// Models may share their files. A model is loaded once they have come, or else do not come: they have a
/// problem, or there is no progress for `patience`.
class wanted_files {
 public:
  explicit wanted_files(duration patience) : patience_(patience) {}

  /// The deployment log assigns the model to this node, perhaps once more; its loading waits. True: the files
  /// are to be held from now on.
  bool assign(model_id model, weights_id files, const std::string& name);
  /// The log does not. True: no other model wants the files, which are to be dropped.
  bool withdraw(model_id model, weights_id files);

  struct given_up {
    weights_id files;
    std::string name;  ///< of a model
    std::string problem;
  };
  struct settled {
    std::vector<model_id> models;   ///< to be loaded now
    std::vector<given_up> without;  ///< files that do not come, and are to be dropped
  };
  /// State of files as inventories report it; nothing: they are not held, because they were given up.
  using state_of_files = std::function<std::optional<image_state>(weights_id)>;
  settled settle(const state_of_files& state_of, time_point now);
  /// When files without progress are given up; `never`: none is waited for.
  time_point next_wakeup() const;

 private:
  struct wanting {
    std::set<model_id> models;
    std::set<model_id> waiting;  ///< of these, to be loaded
    std::string name;            ///< of one
    uint32_t chunks = 0;         ///< the last progress, and when:
    bool arrives = false;
    time_point progress_at = never;
  };
  std::string problem_of(const image_state& s, wanting& w, time_point now) const;

  const duration patience_;
  std::map<weights_id, wanting> wanted_;
};

}  // namespace troupe
