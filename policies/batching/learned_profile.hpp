// The latency of a class of requests whose shapes no measurement has seen, learnt from the batches that ran.
// Pure.
#pragma once
#include <cstdint>

#include "messages/common/time.hpp"
#include "messages/tensor/latency.hpp"

namespace troupe {

/// A line through the batches that ran, by least squares over about the latest 16. While all had the same
/// number of rows, a row takes its share of a batch: until a larger batch ran, its rows count as no cheaper.
class learned_profile {
 public:
  /// `max`: no row alone takes longer by an estimate.
  explicit learned_profile(duration max) : max_(max) {}

  void add(uint32_t rows, duration took);
  bool knows() const { return batches_ > 0; }
  /// A millisecond for a batch of any size before the first one.
  latency_model latency() const;

 private:
  duration max_;
  uint32_t batches_ = 0;  // at most as many as count
  // moving means of rows r and nanoseconds t
  double rows_ = 0, took_ = 0;
  double var_ = 0, cov_ = 0;  // of r, and of r and t
};

}  // namespace troupe
