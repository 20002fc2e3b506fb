// Batching of a model whose requests have shapes of their own: those of one shape run together, as in Triton.
// Each shape is a class with a queue of its own, a policy that forms its batches, and its own latency.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "policies/batching/batching.hpp"
#include "policies/batching/learned_latency.hpp"
#include "policies/batching/learned_profile.hpp"

namespace troupe {

/// The next batch is that of the class whose batch should start first. At most `max_classes` shapes have a
/// class at a time; one without requests gives its place to another. The requests of further shapes share a
/// class in which each is a batch of its own.
class shape_classes final : public batching_policy {
 public:
  static constexpr size_t max_classes = 16;
  using factory = std::function<std::unique_ptr<batching_policy>(const batching_parameters&)>;

  /// `make`: the policy of a class, never null. Latencies are learnt from the batches that ran, if
  /// `max_learned_latency` is not zero.
  shape_classes(const batching_parameters& p, factory make);

  void add(const queued_request& t, time_point now) override;
  void remove_if(const std::function<bool(const queued_request&)>& leaves,
                 std::vector<queued_request>& out) override;
  void update(time_point now, time_point slot_free_at) override;
  const batch_window& window() const override { return window_; }
  time_point wake_at() const override;
  void take_batch(std::vector<queued_request>& out) override;
  void take_dropped(std::vector<dropped_queued_request>& out) override;
  uint32_t queued_rows() const override;
  size_t queued_requests() const override;
  /// Of the slowest class.
  const latency_model& latency() const override { return slowest_; }
  latency_model latency_of(uint64_t shape) const override;
  /// Ignored if latencies are learnt.
  void set_latency(const latency_model& latency) override;
  void set_slots(uint32_t slots) override;
  void learn(const batch_sample& s) override;
  duration lead() const override;
  double need() const override;
  void set_load(double load) override;
  void set_backends(std::span<const backend> all, time_point now) override;
  std::span<const slot_id> slots() const override;
  batch_window choose(slot_id s, const batch_window& offered) override;

 private:
  struct shape_class {
    uint64_t shape = 0;
    std::unique_ptr<batching_policy> policy;
    learned_profile profile{{}};
    uint64_t used_at = 0;  // in arrivals
  };

  bool learns() const { return max_latency_ > duration{}; }
  std::unique_ptr<batching_policy> make(bool alone, const latency_model& latency) const;
  shape_class* least_used();
  batching_policy& policy_for(uint64_t shape);
  void close_window();
  void note_latencies();
  template <class F>
  void for_each(F&& use) const;

  batching_parameters parameters_;
  const factory make_;
  const duration max_latency_;
  double load_ = 1;
  std::vector<shape_class> classes_;  // at most `max_classes`
  std::unique_ptr<batching_policy> rest_;
  learned_latency rest_latency_;
  uint64_t arrivals_ = 0;
  latency_model slowest_;
  std::vector<dropped_queued_request> dropped_;  // of classes that have ended
  batching_policy* next_ = nullptr;              // its window is the present one
  batch_window window_;
};

}  // namespace troupe
