// catalog: what a node knows of the models that are served: from which slots, with which shapes. Written by
// the node actor, read by HTTP threads.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "messages/cluster/membership.hpp"

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
    bool awaited = true;        ///< the cluster is not ready without it
  };
  /// An entry as it was when asked for: a change makes a new one, so that requests share it without copies.
  using view = std::shared_ptr<const entry>;

  explicit catalog(const std::vector<entry>& models);

  /// A model is served from now on. The cluster is ready without it until it was on a slot once.
  void open(entry model);
  /// It is no longer.
  void close(model_id model);

  /// What a slot has now; replaces what it had.
  void add(const slot_ready& s);
  void remove_node(node_id node);
  void clear();

  view find(std::string_view name) const;  ///< null: unknown
  std::vector<view> all() const;           ///< by id
  std::vector<slot_ready> slots() const;
  void set_scheduler_up(bool up);
  /// Every model that is awaited is on some slot, and there is a scheduler to send requests there.
  bool serving() const;

 private:
  void count(const slot_ready& s, bool gone);

  mutable std::mutex mutex_;
  bool scheduler_up_ = false;
  std::map<model_id, view> models_;
  std::map<std::string, model_id, std::less<>> names_;
  std::map<slot_id, slot_ready> slots_;
};

}  // namespace troupe
