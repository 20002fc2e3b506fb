// node_memory is the memory_port of a node: slots of its registered pool, and pulls over the data lane whose
// results arrive through the post.
#pragma once
#include "actors/runtime/memory_port.hpp"
#include "actors/runtime/post.hpp"
#include "transport/data_lane/data_lane.hpp"
#include "transport/memory/slot_pool.hpp"

namespace troupe {

class node_memory final : public memory_port {
 public:
  node_memory(slot_pool& pool, data_lane& lane, post& post) : pool_(pool), lane_(lane), post_(post) {}

  std::optional<offer> take(uint64_t bytes) override;
  void give_back(const region_ref& region) override;
  std::vector<std::byte> pull_buffer(const region_ref& region) const override;
  void pull(const region_ref& region, std::span<std::byte> into, const address& to, uint64_t token) override;
  void pull_leased(const region_ref& lease, std::vector<pulled_range> ranges, const address& to,
                   uint64_t token) override;
  void pull(node_id peer, uint64_t offset, std::span<std::byte> into, const address& to,
            uint64_t token) override;
  std::optional<std::span<const std::byte>> verify(const region_ref& region,
                                                   std::span<const std::byte> buffer) const override;

 private:
  pull_done report_to(const address& to, uint64_t token);

  slot_pool& pool_;
  data_lane& lane_;
  post& post_;
};

}  // namespace troupe
