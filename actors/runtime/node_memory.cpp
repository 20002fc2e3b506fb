#include "actors/runtime/node_memory.hpp"

#include <utility>

#include "actors/common/planted_bug.hpp"
#include "transport/memory/pull_check.hpp"

namespace troupe {

std::optional<offer> node_memory::take(uint64_t bytes) {
  auto s = pool_.take(bytes);
  if (!s) return {};
  return offer{s->region, s->payload};
}

void node_memory::give_back(const region_ref& region) { pool_.give_back(region); }

std::vector<std::byte> node_memory::pull_buffer(const region_ref& region) const {
  return std::vector<std::byte>(pulled_bytes(region));
}

/// The actor receives the end of the pull in a new incarnation too: until then the fabric owns the buffer.
pull_done node_memory::report_to(const address& to, uint64_t token) {
  auto any_incarnation = to;
  any_incarnation.incarnation = {};
  return [this, to = any_incarnation, token](pull_status status) {
    post_.send_with_turn(to, pulled{token, status});
  };
}

void node_memory::pull(const region_ref& region, std::span<std::byte> into, const address& to,
                       uint64_t token) {
  lane_.pull(region, into, report_to(to, token));
}

void node_memory::pull_leased(const region_ref& lease, std::vector<pulled_range> ranges, const address& to,
                              uint64_t token) {
  lane_.pull_leased(lease, std::move(ranges), report_to(to, token));
}

void node_memory::pull(node_id peer, uint64_t offset, std::span<std::byte> into, const address& to,
                       uint64_t token) {
  lane_.pull_bulk(peer, offset, into, report_to(to, token));
}

std::optional<std::span<const std::byte>> node_memory::verify(const region_ref& region,
                                                              std::span<const std::byte> buffer) const {
  if (planted(bug::skip_verify)) return buffer.subspan(sizeof(slot_words), region.size);
  return troupe::verify(region, buffer);
}

}  // namespace troupe
