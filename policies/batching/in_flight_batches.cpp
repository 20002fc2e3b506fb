#include "policies/batching/in_flight_batches.hpp"

#include <algorithm>

namespace troupe {

std::optional<in_flight_batch> in_flight_batches::take(batch_id id) {
  const auto it = batches_.find(id);
  if (it == batches_.end()) return {};
  std::optional out(std::move(it->second));
  batches_.erase(it);
  return out;
}

std::vector<std::pair<batch_id, in_flight_batch>> in_flight_batches::take_of(node_id node,
                                                                             incarnation_id incarnation) {
  std::vector<std::pair<batch_id, in_flight_batch>> out;
  std::erase_if(batches_, [&](auto& entry) {
    auto& [id, b] = entry;
    const bool gone = b.worker.node == node && b.worker.incarnation == incarnation;
    if (gone) out.emplace_back(id, std::move(b));
    return gone;
  });
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

std::vector<bool> in_flight_batches::running(size_t handles) const {
  std::vector<bool> out(handles);
  for (const auto& [id, b] : batches_)
    for (const auto handle : b.handles) out[handle] = true;
  return out;
}

bool in_flight_batches::runs(uint32_t handle) const {
  for (const auto& [id, b] : batches_)
    for (const auto of_batch : b.handles)
      if (of_batch == handle) return true;
  return false;
}

}  // namespace troupe
