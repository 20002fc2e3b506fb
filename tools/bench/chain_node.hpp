// A process of `troupe bench chain`: the source or a target of a chain.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "policies/scaling/chunk_transfer.hpp"
#include "tools/bench/chain.hpp"
#include "transport/fabric/fabric.hpp"

namespace troupe {

/// Pulls chunks from the node before it and announces those that have arrived to the node after it. All
/// members are called on the fabric's thread, but for the constructor.
class chain_node final : public fabric_events {
 public:
  /// `self`: 0 is the source. `arena`: the weights, all of them.
  chain_node(const bench_chain_options& options, uint32_t self, fabric& via, const registered_memory& arena,
             const clock& time);

  /// Forgets all chunks; a target waits for the next run.
  void begin();
  /// Of the source: announces all chunks.
  void announce_all();
  /// When the last chunk arrived; nothing: some are missing.
  std::optional<time_point> finish() const { return finish_; }

  void on_frame(std::span<const std::byte> bytes) override;
  void on_lost(node_id, incarnation_id, std::string) override {}
  void on_turn_end() override {}
  time_point tick_at() const override { return never; }
  void on_tick(time_point) override {}

 private:
  void pull_more();
  void arrived(uint32_t chunk, pull_status how);
  void announce(uint32_t ready);

  const bench_chain_options& options_;
  const uint32_t self_;
  fabric& fabric_;
  const registered_memory arena_;
  const clock& clock_;
  std::optional<chunk_transfer> transfer_;
  std::optional<time_point> finish_;
};

/// The process itself: talks to the parent over `fd` until that is closed.
void run_chain_node(int fd, uint32_t self, const bench_chain_options& options);

}  // namespace troupe
