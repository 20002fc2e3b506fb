#include "policies/scaling/node_rates.hpp"

namespace troupe {

void node_rates::on_reading(weights_id model, const std::vector<image_chunk>& chunks, uint32_t ready,
                            time_point now) {
  const auto [found, begins] = readings_.try_emplace(model, reading{ready, now});
  auto& r = found->second;
  if (begins || ready < r.ready) {
    disk_.begin();
    r = {ready, now};
    return;
  }
  if (ready == r.ready) return;
  uint64_t bytes = 0;
  for (auto c = r.ready; c < ready; ++c) bytes += chunks[c].bytes;
  disk_.add(bytes, r.since, now, true);
  r = {ready, now};
}

std::vector<peer_rate> node_rates::peers() const {
  std::vector<peer_rate> out;
  for (const auto& [from, rate] : peers_) out.push_back({from, rate});
  return out;
}

}  // namespace troupe
