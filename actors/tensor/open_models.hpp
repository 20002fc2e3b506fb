// open_models keeps which models a gateway accepts requests for, and which of them retire.
#pragma once
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "actors/runtime/events.hpp"
#include "policies/common/ledger.hpp"

namespace troupe {

class open_models {
 public:
  /// The models of the cluster file, all of them open.
  explicit open_models(std::vector<std::string> names)
      : names_(std::move(names)), open_(names_.size(), true) {}

  /// Applies a changed line of the deployment log. `who`: sender of `model_idle`, if the model retires.
  void change(const deployment& line, const address& who) {
    const auto i = line.model.value;
    if (i >= names_.size()) {
      names_.resize(i + 1);
      open_.resize(i + 1, true);
    }
    names_[i] = line.forgotten() ? "(forgotten)" : line.definition.name;
    open_[i] = line.wanted == deployment_state::deployed;
    std::erase_if(retiring_, [&](const model_idle& r) { return r.model == line.model; });
    if (line.wanted == deployment_state::retiring) retiring_.push_back({line.model, line.revision, who});
  }

  /// The model accepts requests.
  bool open(model_id model) const { return model.value < open_.size() && open_[model.value]; }
  const std::vector<std::string>& names() const { return names_; }

  /// Calls `send(model_idle)`, once, for each retiring model without requests in flight.
  template <class Send>
  void report_idle(const ledger& requests, Send&& send) {
    if (retiring_.empty()) return;
    const auto counts = requests.by_model();
    std::erase_if(retiring_, [&](const model_idle& r) {
      if (r.model.value < counts.size() && !counts[r.model.value].balanced(0)) return false;
      send(r);
      return true;
    });
  }

 private:
  std::vector<std::string> names_;
  std::vector<bool> open_;
  std::vector<model_idle> retiring_;
};

}  // namespace troupe
