// A memory_port without memory, for benchmarks and fuzz tests of scheduling alone.
#pragma once
#include "actors/runtime/memory_port.hpp"

namespace troupe {

/// `take` and `verify` return nothing; `pull` does nothing.
class null_memory_port final : public memory_port {
 public:
  std::optional<offer> take(uint64_t) override { return {}; }
  void give_back(const region_ref&) override {}
  std::vector<std::byte> pull_buffer(const region_ref&) const override { return {}; }
  void pull(const region_ref&, std::span<std::byte>, const address&, uint64_t) override {}
  void pull_leased(const region_ref&, std::vector<pulled_range>, const address&, uint64_t) override {}
  void pull(node_id, uint64_t, std::span<std::byte>, const address&, uint64_t) override {}
  std::optional<std::span<const std::byte>> verify(const region_ref&,
                                                   std::span<const std::byte>) const override {
    return {};
  }
};

}  // namespace troupe
