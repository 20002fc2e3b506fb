// Requests that a gateway collects during a turn, to be sent to their model queues in few messages.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "messages/tensor/request.hpp"

namespace troupe {

class pending_submits {
 public:
  void add(const request& r) {
    if (r.model.value >= by_model_.size()) by_model_.resize(r.model.value + 1);
    by_model_[r.model.value].requests.push_back(r);
  }
  /// True if it was pending: its queue does not know this attempt.
  bool erase(model_id model, request_id id) {
    return model.value < by_model_.size() &&
           std::erase_if(by_model_[model.value].requests, [&](const request& r) { return r.id == id; }) > 0;
  }
  void clear() { by_model_.clear(); }

  /// Calls `send(model, submit)` for every model with requests, in the order of the models; requests keep
  /// their order. Requests beyond the size of a frame go in several messages.
  template <class Send>
  void flush(Send&& send) {
    for (uint32_t i = 0; i < by_model_.size(); ++i) {
      auto& waiting = by_model_[i].requests;
      if (waiting.empty()) continue;
      auto first = waiting.begin();
      for (; waiting.end() - first > max_per_message; first += max_per_message)
        send(model_id{i}, submit{{first, first + max_per_message}});
      waiting.erase(waiting.begin(), first);
      send(model_id{i}, std::exchange(by_model_[i], {}));
    }
  }

 private:
  static constexpr std::ptrdiff_t max_per_message = 4096;  // requests that fit into a frame

  std::vector<submit> by_model_;
};

}  // namespace troupe
