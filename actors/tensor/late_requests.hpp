// Late requests: tensor requests with an outcome, for which a worker or a pull still works.
#pragma once
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/tensor/in_flight_request.hpp"

namespace troupe {

/// Keeps the memory of late requests alive, in two tables. Of a late input, a worker may still read the
/// input; of a late pull, the fabric still writes into the buffer. The caller that takes a request gives its
/// memory back.
class late_requests {
 public:
  size_t size() const { return inputs_.size() + pulls_.size(); }

  /// Kept until a worker or a queue answers, or the request expires again.
  void add_input(in_flight_request f) {
    const auto id = f.asked.id;
    inputs_.emplace(id, std::move(f));
  }
  /// Kept until the pull ends. The bytes of the buffer stay in place.
  void add_pull(in_flight_request f) {
    const auto id = f.asked.id;
    pulls_.emplace(id, std::move(f));
  }

  bool has_input(request_id id) const { return inputs_.contains(id); }
  /// Nothing if there is no such late input, and no such late pull.
  std::optional<in_flight_request> take_input(request_id id) { return take(inputs_, id); }
  std::optional<in_flight_request> take_pull(request_id id) { return take(pulls_, id); }
  /// All late inputs, in an unspecified but deterministic order.
  std::vector<in_flight_request> take_inputs() {
    std::vector<in_flight_request> out;
    out.reserve(inputs_.size());
    for (auto& [_, f] : std::exchange(inputs_, {})) out.push_back(std::move(f));
    return out;
  }

 private:
  using table = std::unordered_map<request_id, in_flight_request>;

  static std::optional<in_flight_request> take(table& from, request_id id) {
    const auto it = from.find(id);
    if (it == from.end()) return {};
    std::optional<in_flight_request> out(std::move(it->second));
    from.erase(it);
    return out;
  }

  table inputs_, pulls_;
};

}  // namespace troupe
