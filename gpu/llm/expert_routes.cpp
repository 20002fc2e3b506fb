#include "gpu/llm/expert_routes.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace troupe::llm {

namespace {

constexpr uint32_t no_expert = std::numeric_limits<uint32_t>::max();

/// The largest logit behind (`last`, its expert) in the order of descending logits and ascending experts. NaN
/// counts as the least.
uint32_t next_expert(std::span<const float> logits, uint32_t last) {
  uint32_t best = no_expert;
  const auto comes_before = [&](uint32_t a, uint32_t b) {
    const bool less_a = std::isnan(logits[a]), less_b = std::isnan(logits[b]);
    if (less_a != less_b) return less_b;
    if (!less_a && logits[a] != logits[b]) return logits[a] > logits[b];
    return a < b;
  };
  for (uint32_t e = 0; e < logits.size(); ++e) {
    if (last != no_expert && !comes_before(last, e)) continue;
    if (best == no_expert || comes_before(e, best)) best = e;
  }
  return best;
}

}  // namespace

void expert_routes::make(const float* logits, size_t rows, uint32_t experts, uint32_t per_row,
                         bool normalised) {
  assert(per_row >= 1 && per_row <= experts);
  chosen_.resize(rows * per_row);
  chosen_weights_.resize(rows * per_row);
  start_.assign(experts + 1, 0);
  for (size_t r = 0; r < rows; ++r) {
    const std::span row(logits + r * experts, experts);
    uint32_t* chosen = &chosen_[r * per_row];
    float* weights = &chosen_weights_[r * per_row];
    float of_chosen = 0, of_all = 0;
    uint32_t last = no_expert;
    for (uint32_t i = 0; i < per_row; ++i) {
      chosen[i] = last = next_expert(row, last);
      weights[i] = std::exp(row[last] - row[chosen[0]]);
      of_chosen += weights[i];
      ++start_[last + 1];
    }
    if (!normalised)
      for (const float logit : row) of_all += std::exp(logit - row[chosen[0]]);
    for (uint32_t i = 0; i < per_row; ++i) weights[i] /= normalised ? of_chosen : of_all;
  }
  for (uint32_t e = 0; e < experts; ++e) start_[e + 1] += start_[e];

  rows_.resize(rows * per_row);
  weights_.resize(rows * per_row);
  for (size_t i = 0; i < rows * per_row; ++i) {
    const size_t at = start_[chosen_[i]]++;  // the start becomes the end, which is the next one's start
    rows_[at] = static_cast<uint32_t>(i / per_row);
    weights_[at] = chosen_weights_[i];
  }
  std::shift_right(start_.begin(), start_.end(), 1);
  start_[0] = 0;
}

}  // namespace troupe::llm
