// Requests that a gateway collects during a turn, or until they are due, to be sent to their model queues in
// few messages.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
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
  /// As `add`, but not before `due`.
  void add_later(const request& r, time_point due) { later_.emplace(due, r); }
  /// True if it was pending: its queue does not know this attempt.
  bool erase(model_id model, request_id id) {
    return erase_later(id) ||
           (model.value < by_model_.size() &&
            std::erase_if(by_model_[model.value].requests, [&](const request& r) { return r.id == id; }) > 0);
  }
  /// Likewise among those that were added for later only.
  bool erase_later(request_id id) {
    return std::erase_if(later_, [&](const auto& l) { return l.second.id == id; }) > 0;
  }
  void clear() {
    by_model_.clear();
    later_.clear();
  }
  /// When the next of those that were added for later is due; `never` without any.
  time_point next_due() const { return later_.empty() ? never : later_.begin()->first; }

  /// Calls `send(model, submit)` for every model with due requests, in the order of the models; requests keep
  /// their order. Requests beyond the size of a frame go in several messages.
  template <class Send>
  void flush(time_point now, Send&& send) {
    for (; next_due() <= now; later_.erase(later_.begin())) add(later_.begin()->second);
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
  std::multimap<time_point, request> later_;  ///< by their due times
};

}  // namespace troupe
