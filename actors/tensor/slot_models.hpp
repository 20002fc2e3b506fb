// slot_models keeps the models of an execution slot: those that its device has loaded, and those to unload
// once they do not run.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "actors/runtime/events.hpp"
#include "messages/cluster/membership.hpp"

namespace troupe {

class slot_models {
 public:
  /// Bytes per row, over all inputs and over all outputs.
  struct row_bytes {
    uint64_t input = 0, output = 0;
    bool free = false;  ///< the model has free dimensions: each request gives its shapes, and has its bytes
  };

  /// The device has loaded these, and no others.
  void set(const std::vector<model_ready>& models) {
    loaded_.clear();
    for (const auto& m : models) {
      if (m.model.value >= loaded_.size()) loaded_.resize(m.model.value + 1);
      loaded_[m.model.value] = {input_row_bytes(m.signature), output_row_bytes(m.signature),
                                has_free_dimension(m.signature)};
    }
  }
  /// Null: not loaded, or leaving.
  const row_bytes* find(model_id m) const {
    return m.value < loaded_.size() && loaded_[m.value] ? &*loaded_[m.value] : nullptr;
  }
  /// Nothing was loaded yet.
  bool empty() const { return loaded_.empty(); }
  /// By id.
  std::vector<std::pair<model_id, row_bytes>> all() const {
    std::vector<std::pair<model_id, row_bytes>> out;
    for (uint32_t i = 0; i < loaded_.size(); ++i)
      if (loaded_[i]) out.emplace_back(model_id{i}, *loaded_[i]);
    return out;
  }

  /// Marks a model as leaving; `find` no longer returns it. `take_idle` returns `told`.
  void leave(const model_idle& told) {
    if (told.model.value < loaded_.size()) loaded_[told.model.value].reset();
    leaving_.push_back(told);
  }
  /// Cancels the unloading of a model that is wanted again; the next `set` has it.
  void stay(model_id m) {
    std::erase_if(leaving_, [m](const model_idle& i) { return i.model == m; });
  }
  /// Removes the leaving models that do not run, in the order in which they left; the caller unloads them.
  std::vector<model_idle> take_idle(std::optional<model_id> running) {
    std::vector<model_idle> out;
    std::erase_if(leaving_, [&](const model_idle& i) {
      if (i.model == running) return false;
      out.push_back(i);
      return true;
    });
    return out;
  }

 private:
  std::vector<std::optional<row_bytes>> loaded_;  // by model id
  std::vector<model_idle> leaving_;
};

}  // namespace troupe
