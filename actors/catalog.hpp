// catalog: what a node knows of the models that are served: from which slots, with which shapes. Written by
// the node actor, read by HTTP threads.
#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/membership.hpp"

namespace troupe {

class catalog {
 public:
  struct entry {
    model_id model;
    std::string name;
    duration slo{};
    uint32_t max_batch = 1;
    model_signature signature;  ///< empty until a slot has the model
    uint32_t slots = 0;         ///< that have it now
  };

  /// One entry a model, in the order of their ids.
  explicit catalog(std::vector<entry> models);

  void add(const slot_ready& s);
  void remove_node(node_id node);
  void clear();

  std::optional<entry> find(std::string_view name) const;
  std::vector<entry> all() const;
  void set_scheduler_up(bool up);
  /// Every model is on some slot, and there is a scheduler to send requests there.
  bool serving() const;

 private:
  mutable std::mutex mutex_;
  bool scheduler_up_ = false;
  std::vector<entry> models_;
  std::map<slot_id, slot_ready> slots_;
};

}  // namespace troupe
