// Tensor requests that have their outcome while others still work for them.
#pragma once
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/tensor/in_flight_request.hpp"

namespace troupe {

/// Keeps the memory of such requests alive, in two tables: a worker may still read the input of a late input;
/// the network still writes into the buffer of a late pull. Each is taken once, by the caller that gives the
/// memory back.
class late_requests {
 public:
  size_t size() const { return inputs_.size() + pulls_.size(); }

  /// Until a worker or a queue answers, or the request expires again.
  void add_input(in_flight_request f) {
    const auto id = f.asked.id;
    inputs_.emplace(id, std::move(f));
  }
  /// Until the pull ends. Moves the buffer without moving its bytes.
  void add_pull(in_flight_request f) {
    const auto id = f.asked.id;
    pulls_.emplace(id, std::move(f));
  }

  bool has_input(request_id id) const { return inputs_.contains(id); }
  /// Nothing if there is no such late input, and no such late pull.
  std::optional<in_flight_request> take_input(request_id id) { return take(inputs_, id); }
  std::optional<in_flight_request> take_pull(request_id id) { return take(pulls_, id); }
  /// All late inputs, in no particular order, which is the same for the same history.
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
