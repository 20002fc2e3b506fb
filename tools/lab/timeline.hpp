// A run in equal steps: goodput and losses of each, GPUs in use, and the autoscale advice (Symphony §3.5,
// Fig. 15).
#pragma once
#include <vector>

#include "tools/lab/results.hpp"
#include "tools/lab/trial.hpp"

namespace troupe::lab {

class timeline final : public trial_watch {
 public:
  timeline(const trial& t, duration step);

  void on_batch(const batch& b) override;
  void on_loss(const loss& l) override;

  /// Of all models: time_s, offered_rps, goodput_rps, gpus_used, gpus_busy, advice_gpus, bad_rate; then one
  /// table a model: time_s, goodput_rps, lost_rps.
  std::vector<table> tables(const trial& t) const;
  /// The bad rate over the steps in which GPUs were busy for less than the fraction `busy`.
  double bad_rate_where_busy_below(double busy) const;
  /// The GPUs used at all in such steps, divided by the GPUs that the work would have filled. 0: there is no
  /// such step.
  double used_over_busy_below(double busy) const;
  /// The correlation of the advised number of GPUs with the offered load, from the first full window of
  /// advice on. 1: they rise and fall together; 0: no correlation, or too few steps.
  double advice_follows_load() const;

 private:
  struct step_statistics {
    std::vector<uint64_t> served, lost;  // by model
    std::vector<bool> used;              // by slot
    duration busy{};
  };
  size_t step_of(duration at) const;
  double busy_of(const step_statistics& s) const;
  /// The advice of policies/scaling/autoscale_advice.hpp after each step: GPUs to add; negative: to remove.
  std::vector<double> advice() const;

  duration step_;
  uint32_t slots_;
  std::vector<step_statistics> steps_;
};

}  // namespace troupe::lab
