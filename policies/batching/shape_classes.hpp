// Batching of a model whose requests have shapes of their own: those of one shape run together, as in Triton.
// Each shape is a class with a queue of its own, a policy that forms its batches, and its own latency.
#pragma once
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "policies/batching/batching.hpp"
#include "policies/batching/learned_latency.hpp"
#include "policies/batching/learned_profile.hpp"

namespace troupe {

/// Of the classes whose batch may start now, that with the earliest latest start is the next one; else that
/// whose batch starts first. At most `max_classes` shapes have a class at a time; one without requests gives
/// its place to another. The requests of further shapes share a class in which each is a batch of its own.
class shape_classes final : public batching_policy {
 public:
  static constexpr size_t max_classes = 16;
  static constexpr size_t max_profiles = 256;  ///< of shapes, with or without a class
  using factory = std::function<std::unique_ptr<batching_policy>(const batching_parameters&)>;

  /// `make`: the policy of a class, never null; it must not depend on set_backends. Latencies are learnt from
  /// the batches that ran, if `max_learned_latency` is not zero: by shape, and by size for shapes of which
  /// none ran. Batches of these do not wait for more rows.
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
  void arrived(uint64_t shape, uint64_t bytes) override;
  void learn(const batch_sample& s) override;
  void take_latency(batching_policy& former) override;
  duration lead() const override;
  double need() const override;
  void set_load(double load) override;

 private:
  struct shape_class {
    uint64_t shape = 0;
    std::unique_ptr<batching_policy> policy;
    uint64_t used_at = 0;  // in arrivals
    time_point arrived_at = long_ago;
  };
  struct known_shape {
    learned_profile profile;
    uint64_t used_at = 0;
    uint64_t bytes = 0;  // of its latest request
  };

  bool learns() const { return max_latency_ > duration{}; }
  bool knows(uint64_t shape) const;
  std::unique_ptr<batching_policy> make(bool alone, const latency_model& latency) const;
  known_shape& known(uint64_t shape);
  shape_class* least_used();
  batching_policy& policy_for(uint64_t shape, time_point now);
  void consider(batching_policy& p, batch_window w, time_point start);
  void close_window();
  void set_latencies();
  template <class F>
  void for_each(F&& use) const;

  batching_parameters parameters_;
  const factory make_;
  const duration max_latency_;
  double load_ = 1;
  std::vector<shape_class> classes_;
  std::unique_ptr<batching_policy> rest_;
  std::unordered_map<uint64_t, known_shape> profiles_;
  learned_latency by_size_;
  uint64_t arrivals_ = 0;
  time_point now_ = long_ago;
  latency_model slowest_;
  std::vector<dropped_queued_request> dropped_;  // of classes that have ended
  batching_policy* next_ = nullptr;              // its window is the present one
  batch_window window_;
};

}  // namespace troupe
