// Batching policy of Nexus (Shen et al., SOSP 2019, §6), a baseline of the Symphony paper: every backend of a
// model has a queue of its own.
#pragma once
#include <memory>
#include <vector>

#include "policies/baselines/nexus_backend.hpp"
#include "policies/common/tournament.hpp"

namespace troupe {

/// An arrival goes to one of the backends, in proportion to their weights (smooth weighted round robin), and
/// stays there. If a backend is removed, its requests go to the others. Without backends there is one queue
/// for any granted slot.
///
/// The window summarises the backends that have one: the largest batch, the earliest start, the last latest
/// start. After `choose` it is the window of the chosen backend. A batch can be taken only then, or without
/// backends.
class nexus final : public batching_policy {
 public:
  nexus(const batching_parameters& p, shedding rule);

  void add(const queued_request& t, time_point now) override;
  void remove_if(const std::function<bool(const queued_request&)>& leaves,
                 std::vector<queued_request>& out) override;
  void update(time_point now, time_point slot_free_at) override;
  const batch_window& window() const override { return anywhere_ ? backends_[0].queue->window() : window_; }
  time_point wake_at() const override { return anywhere_ ? backends_[0].queue->wake_at() : wakes_.best(); }
  void take_batch(std::vector<queued_request>& out) override;
  void take_dropped(std::vector<dropped_queued_request>& out) override;
  uint32_t queued_rows() const override { return rows_; }
  size_t queued_requests() const override { return requests_; }
  const latency_model& latency() const override { return parameters_.latency; }
  void set_latency(const latency_model& latency) override;
  void set_slots(uint32_t slots) override;
  double need() const override;

  void set_backends(std::span<const backend> of, time_point now) override;
  std::span<const slot_id> slots() const override { return slots_; }
  batch_window choose(slot_id slot, const batch_window& offered) override;

 private:
  static constexpr uint32_t no_backend = ~uint32_t{0};

  struct backend_queue {
    backend plan;
    std::unique_ptr<nexus_backend> queue;
    double credit = 0;
    bool changed = true;  ///< since its window was updated
    batch_window offered{};
  };

  backend_queue make(const backend& plan) const;
  uint32_t route();
  void update(uint32_t which, time_point now, time_point slot_free_at);
  void summarise();
  void count();

  batching_parameters parameters_;
  const shedding rule_;
  std::vector<backend_queue> backends_;  // by slot; or a single one for any slot
  bool anywhere_ = true;                 // that single one exists
  uint32_t chosen_ = no_backend;         // `backends_.size()`: a slot without a backend
  std::vector<uint32_t> changed_;
  tournament<time_point> wakes_{never};  // by backend
  batch_window window_;
  std::vector<slot_id> slots_;
  std::vector<dropped_queued_request> dropped_;
  uint32_t rows_ = 0;
  size_t requests_ = 0;
};

}  // namespace troupe
