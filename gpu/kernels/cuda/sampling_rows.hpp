// Collects the arguments of sampling_kernel for a step's rows.
#pragma once
#include <algorithm>
#include <cassert>
#include <vector>

#include "gpu/kernels/cuda/sampling_kernel.hpp"
#include "gpu/kernels/philox.hpp"

namespace troupe::cuda {

class sampling_rows {
 public:
  void clear() { rows_.clear(), adjustments_.clear(); }

  /// Adds a row, with the arguments of the CPU kernel; ignores `logits` and `top`. `last`: the step's row
  /// with the sequence's last token, if this is not counted yet; else row_sampling::no_row.
  void add(const kernels::sampling_args& a, uint32_t last = row_sampling::no_row) {
    assert(a.top_entries <= sampled_row::max_top);
    const auto& p = a.parameters;
    row_sampling row;
    row.uniform = kernels::uniform(p.seed, a.position);
    row.scale = p.temperature == 0 ? 0 : std::min(1.4426950408889634F / p.temperature, 1e30F);
    row.top_k = p.top_k, row.top_p = p.top_p, row.min_p = p.min_p;
    row.repetition_penalty = p.repetition_penalty, row.presence_penalty = p.presence_penalty;
    row.frequency_penalty = p.frequency_penalty;
    row.first_adjustment = static_cast<uint32_t>(adjustments_.size());
    add_adjustments(a);
    if (last != row_sampling::no_row && p.has_penalties()) {
      row.uncounted = last;
      adjustments_.push_back({.token = kernels::no_token});
    }
    row.adjustments = static_cast<uint32_t>(adjustments_.size()) - row.first_adjustment;
    row.top = a.top_entries;
    rows_.push_back(row);
  }

  const std::vector<row_sampling>& rows() const { return rows_; }
  const std::vector<token_adjustment>& adjustments() const { return adjustments_; }

 private:
  /// Merges the bias and the counts of a token into one entry.
  void add_adjustments(const kernels::sampling_args& a) {
    const auto first = static_cast<ptrdiff_t>(adjustments_.size());
    for (size_t i = 0; i < a.count_entries; ++i)
      adjustments_.push_back({a.counts[i].token, a.counts[i].prompt, a.counts[i].output, 0, 0});
    if (a.bias_entries == 0) return;
    for (size_t i = 0; i < a.bias_entries; ++i)
      adjustments_.push_back({a.biases[i].token, 0, 0, a.biases[i].bias, 0});
    std::sort(adjustments_.begin() + first, adjustments_.end(),
              [](const auto& x, const auto& y) { return x.token < y.token; });
    auto last = adjustments_.begin() + first;
    for (auto next = last + 1; next != adjustments_.end(); ++next) {
      if (next->token == last->token) {
        last->prompt += next->prompt, last->output += next->output, last->bias += next->bias;
      } else {
        *++last = *next;
      }
    }
    adjustments_.erase(last + 1, adjustments_.end());
  }

  std::vector<row_sampling> rows_;
  std::vector<token_adjustment> adjustments_;
};

}  // namespace troupe::cuda
