// The latency of a class of requests whose shapes no measurement has seen, learnt from the batches that ran.
// Pure.
#pragma once
#include <cstdint>

#include "messages/common/time.hpp"
#include "messages/tensor/latency.hpp"

namespace troupe {

/// A line through the batches that ran, by least squares over about the latest 16. While all had the same
/// number of rows, a row takes its share of a batch: until a larger batch ran, its rows count as no cheaper.
/// The first batch, which may have prepared the shape, counts only until there is a second one. If none runs
/// during 64 arrivals, nothing is known any more: otherwise a slow batch could make the queue refuse all
/// requests for good.
class learned_profile {
 public:
  /// `max`: no row alone takes longer by an estimate.
  explicit learned_profile(duration max) : max_(max) {}

  void add(uint32_t rows, duration took);
  /// A request of the class has arrived.
  void arrive();
  bool knows() const { return batches_ > 0; }
  /// Requires: it knows.
  latency_model latency() const;

 private:
  duration max_;
  uint32_t ran_ = 0;       // batches, up to two
  uint32_t batches_ = 0;   // that count
  uint32_t arrivals_ = 0;  // since the latest of them
  // moving means of rows r and nanoseconds t
  double rows_ = 0, took_ = 0;
  double var_ = 0, cov_ = 0;  // of r, and of r and t
};

}  // namespace troupe
