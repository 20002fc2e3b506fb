// catalog lists the tensor models of the cluster, with their shapes and the slots that have them, and those
// that were undeployed. The node actor writes it, HTTP threads read it. Thread-safe.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "messages/cluster/membership.hpp"
#include "messages/tensor/image_input.hpp"
#include "messages/tensor/model_engine.hpp"

namespace troupe {

class catalog {
 public:
  struct entry {
    model_id model;
    std::string name;
    duration slo{};
    uint32_t max_batch = 1;
    model_signature signature;                      ///< empty until a slot has the model
    uint32_t slots = 0;                             ///< slots that have it now
    bool awaited = true;                            ///< the cluster is not ready without it
    std::vector<image_input> images = {};           ///< inputs that may be sent as image files
    model_engine engine = model_engine::automatic;  ///< as the deployment log records it
  };
  /// A model that takes no more requests.
  struct closed_model {
    std::string name;
    bool unloading = false;  ///< accepted requests still run
  };
  /// A snapshot of an entry. Changes replace the entry, so requests share snapshots without copies.
  using view = std::shared_ptr<const entry>;

  explicit catalog(const std::vector<entry>& models);

  /// Adds or renames a model. `serving` does not wait for it before a slot has had it once.
  void open(entry model);
  /// Removes a model. Without a name it is forgotten, else it is among `closed` from now on.
  void close(model_id model, closed_model as);

  /// Replaces the models of a slot.
  void add(const slot_ready& s);
  void remove_node(node_id node);
  void clear();

  view find(std::string_view name) const;    ///< null: unknown
  std::vector<view> all() const;             ///< by id
  std::vector<closed_model> closed() const;  ///< by name, without those that are open again
  std::vector<slot_ready> slots() const;
  void set_scheduler_up(bool up);
  /// True if a scheduler is up and every awaited model is on some slot.
  bool serving() const;

 private:
  void count(const slot_ready& s, bool gone);

  mutable std::mutex mutex_;
  bool scheduler_up_ = false;
  std::map<model_id, view> models_;
  std::map<std::string, model_id, std::less<>> names_;
  std::map<model_id, closed_model> closed_;
  std::map<slot_id, slot_ready> slots_;
};

}  // namespace troupe
