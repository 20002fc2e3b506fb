// Sampling of the next tokens from logits on a GPU, as defined in gpu/kernels/sampling.hpp.
//
// A cluster for each row; every warp has a range of token ids. There is no sort: the cut-offs of top_k and
// top_p are found by bisection over the order of the tokens, with some twenty passes over the row. Shares are
// integers, in units of 2^-40 of the most likely token's weight. So their sums, and the choice, depend
// neither on the order of threads nor on the batch.
//
// A greedy row is read twice (maximum, sum of exponentials), from L2, as the head has just written it.
#pragma once
#include "gpu/kernels/cuda/cluster_reduction.hpp"
#include "gpu/kernels/sampling.hpp"

namespace troupe::cuda {

/// The sampling parameters of a row, converted for the kernel.
struct row_sampling {
  double uniform = 0;  ///< the draw, in [0, 1)
  float scale = 0;     ///< log2(e) / temperature, finite; 0: the most likely token
  uint32_t top_k = 0;
  float top_p = 1, min_p = 0;
  float repetition_penalty = 1, presence_penalty = 0, frequency_penalty = 0;
  uint32_t first_adjustment = 0, adjustments = 0;  ///< of `sampling_kernel::adjustments`
  uint32_t top = 0;                                ///< at most sampled_row::max_top and the vocabulary
  /// Index in `sampling_kernel::tokens` of an output token that the adjustments do not count yet. The row's
  /// last adjustment is free for it.
  uint32_t uncounted = no_row;
  static constexpr uint32_t no_row = ~0U;
};

/// A token that has a bias or occurs in the sequence; each token once for a row.
struct token_adjustment {
  uint32_t token = 0;  ///< no_token: unused entry
  uint32_t prompt = 0, output = 0;
  float bias = 0;
  float raw = 0;  ///< written by the kernel: the logit before adjustment
};

struct sampled_row {
  static constexpr uint32_t max_top = 20;
  kernels::token_logprob chosen;        ///< no_token: no valid distribution, `top` is undefined
  kernels::token_logprob top[max_top];  ///< the most likely tokens, as many as requested
};

template <uint32_t Cluster>
struct sampling_kernel {
  static constexpr uint32_t threads = 512, cluster = Cluster, warps = threads / 32;
  static constexpr uint32_t max_vocabulary = 1 << 20;

  const uint32_t* rows = nullptr;           ///< [1]; clusters beyond them do nothing
  float* logits = nullptr;                  ///< [rows, stride]; biases and penalties are applied in place
  uint32_t vocabulary = 0, stride = 0;      ///< at least one token, at most `max_vocabulary`
  const row_sampling* samplings = nullptr;  ///< [rows]
  const int32_t* tokens = nullptr;          ///< of the step's rows; needed if a row has an uncounted token
  token_adjustment* adjustments = nullptr;  ///< of all rows
  sampled_row* out = nullptr;               ///< [rows]

  grid_size grid(uint32_t max_rows) const { return {max_rows * Cluster, 1, 1}; }
  size_t shared_bytes() const { return cluster_reduction<int, Cluster, warps>::shared_bytes; }

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    t.grid_dependency_sync();
    const uint32_t index = t.block() / Cluster;
    if (index >= *rows) return;
    const row_sampling sampling = samplings[index];
    row_view<Thread> row(*this, t, index);
    choose(t, row, sampling, adjustments + sampling.first_adjustment, out[index]);
    row.over.finish();
  }

 private:
  // Sort key of a token: greater is more likely; ties by id. NaN and plus infinity come before all others.
  static constexpr uint64_t broken = ~uint64_t{0};
  TROUPE_DEVICE static uint64_t key_of(float logit, uint32_t id) {
    if (!(logit < kernel_infinity())) return broken;
    logit += 0.0F;  // turns -0 into +0
    uint32_t bits;
    memcpy(&bits, &logit, 4);
    bits ^= bits >> 31 != 0 ? ~0U : 1U << 31;
    return uint64_t{bits} * max_vocabulary + (max_vocabulary - 1 - id);
  }
  TROUPE_DEVICE static uint32_t id_of(uint64_t key) {
    return max_vocabulary - 1 - static_cast<uint32_t>(key % max_vocabulary);
  }
  TROUPE_DEVICE static float logit_of(uint64_t key) {
    auto bits = static_cast<uint32_t>(key / max_vocabulary);
    bits ^= bits >> 31 != 0 ? 1U << 31 : ~0U;
    float logit;
    memcpy(&logit, &bits, 4);
    return logit;
  }
  TROUPE_DEVICE static float kernel_infinity() {
    const uint32_t bits = 0x7f800000;
    float x;
    memcpy(&x, &bits, 4);
    return x;
  }

  /// The remaining tokens: those not before `key` with at least this share.
  struct cut {
    uint64_t key = 0, share = 0;
  };

  /// A thread's view of a row. All threads of the cluster must make the same calls.
  template <class Thread>
  struct row_view {
    TROUPE_DEVICE row_view(const sampling_kernel& k, Thread thread, uint32_t index)
        : t(thread), over(thread), logits(k.logits + size_t{index} * k.stride) {
      const uint32_t each = round_up(ceil_div(k.vocabulary, Cluster * warps), 32U);
      const uint32_t block_begin = t.block_rank_in_cluster() * warps * each;
      block_first = smaller(block_begin, k.vocabulary);
      block_end = smaller(block_begin + warps * each, k.vocabulary);
      first = smaller(block_first + t.warp() * each, block_end), end = smaller(first + each, block_end);
    }

    /// Key of the most likely token that is not before `from`.
    TROUPE_DEVICE uint64_t most_likely(uint64_t from = broken) {
      uint64_t best = 0;
      for (uint32_t i = first + t.lane(); i < end; i += 32) {
        const uint64_t key = key_of(logits[i], i);
        if (key <= from) best = larger(best, key);
      }
      return over.greatest(best);
    }
    TROUPE_DEVICE uint64_t share_of(float logit) const {
      const float distance = (logit - max_logit) * scale;
      return distance > -40.0F ? static_cast<uint64_t>(t.exp2(distance) * 0x1p40F) : 0;
    }
    TROUPE_DEVICE uint64_t share_of(uint32_t id, const cut& left) const {
      const uint64_t share = share_of(logits[id]);
      return share >= left.share && key_of(logits[id], id) >= left.key ? share : 0;
    }
    struct tally {
      uint64_t share, count;
    };
    TROUPE_DEVICE tally not_before(uint64_t key) {
      tally mine{0, 0};
      for (uint32_t i = first + t.lane(); i < end; i += 32)
        if (key_of(logits[i], i) >= key) mine.share += share_of(logits[i]), ++mine.count;
      const auto sums = over.sum(mine.share, mine.count);
      return {sums.first, sums.second};
    }
    /// The highest key for which `enough` holds of the tokens not before it. Requires: `enough` holds for
    /// `low`, not for `high`.
    template <class Enough>
    TROUPE_DEVICE uint64_t highest(uint64_t low, uint64_t high, Enough enough) {
      uint64_t from_low = not_before(low).count, from_high = 0;
      while (from_low - from_high > 1) {
        const uint64_t middle = low + (high - low) / 2;
        const tally of = not_before(middle);
        if (enough(of)) {
          low = middle, from_low = of.count;
        } else {
          high = middle, from_high = of.count;
        }
      }
      return low;
    }
    /// The remaining token at which the cumulative share, in the order of ids, exceeds this part of the
    /// total.
    TROUPE_DEVICE uint32_t draw(const cut& left, double part) {
      uint64_t mine = 0;
      for (uint32_t i = first + t.lane(); i < end; i += 32) mine += share_of(i, left);
      const auto sums = over.sums(mine);
      uint64_t rest =
          smaller(static_cast<uint64_t>(part * static_cast<double>(sums.all)), sums.all - 1) - sums.before;
      uint64_t found = 0;
      for (uint32_t i = first + t.lane(); rest < sums.mine; i += 32) {  // taken by one warp only
        const uint64_t share = i < end ? share_of(i, left) : 0;
        uint64_t until = share;  // inclusive prefix sum over the lanes
        TROUPE_UNROLL for (uint32_t d = 1; d < 32; d *= 2) {
          const uint64_t other = t.shuffle(until, t.lane() >= d ? t.lane() - d : 0);
          if (t.lane() >= d) until += other;
        }
        const uint64_t all = t.shuffle(until, 31);
        if (rest < all) {
          if (until > rest && until - share <= rest) found = i;
          break;
        }
        rest -= all;
      }
      return static_cast<uint32_t>(over.greatest(found));
    }

    Thread t;
    cluster_reduction<Thread, Cluster, warps> over;
    float* logits;
    uint32_t block_first, block_end, first, end;  // id ranges of the block and of the warp
    float max_logit = 0, scale = 0;
  };

  template <class Thread>
  TROUPE_DEVICE void choose(Thread t, row_view<Thread>& row, const row_sampling& sampling,
                            token_adjustment* adjusted, sampled_row& to) const {
    const bool writes = t.block_rank_in_cluster() == 0 && t.index() == 0;
    if (writes) to.chosen = {kernels::no_token, 0};
    uint64_t best = row.most_likely();
    if (best == broken || !(logit_of(best) > -kernel_infinity())) return;
    const float max_logit = logit_of(best);
    row.max_logit = max_logit, row.scale = log2_e;
    const float log_of_all = t.log2(static_cast<float>(row.not_before(0).share) * 0x1p-40F) / log2_e;
    uint64_t next = best;
    for (uint32_t i = 0; i < sampling.top; ++i) {
      if (writes) to.top[i] = {id_of(next), logit_of(next) - max_logit - log_of_all};
      if (i + 1 < sampling.top) next = row.most_likely(next - 1);
    }

    const bool late = sampling.uncounted != row_sampling::no_row;
    const uint32_t uncounted = late ? static_cast<uint32_t>(tokens[sampling.uncounted]) : kernels::no_token;
    uint64_t known = 0;  // 1: the uncounted token has an adjustment
    for (uint32_t i = t.index(); i < sampling.adjustments; i += threads) {
      token_adjustment& a = adjusted[i];
      if (a.token < row.block_first || a.token >= row.block_end) continue;
      if (a.token == uncounted) ++a.output, known = 1;
      adjust(sampling, a, row.logits[a.token]);
    }
    if (late && row.over.greatest(known) == 0 && t.index() == 0 && uncounted >= row.block_first &&
        uncounted < row.block_end) {
      token_adjustment& a = adjusted[sampling.adjustments - 1];
      a.token = uncounted, a.output = 1;
      adjust(sampling, a, row.logits[uncounted]);
    }
    if (sampling.adjustments > 0) {
      t.sync();
      best = row.most_likely();
      if (best == broken || !(logit_of(best) > -kernel_infinity())) return;
    }
    uint32_t token = id_of(best);
    if (sampling.scale > 0 && sampling.top_k != 1) {
      row.max_logit = logit_of(best), row.scale = sampling.scale;
      token = row.draw(what_is_left(row, sampling, best), sampling.uniform);
    }

    uint64_t place = 0;  // of the token among the adjustments, from 1
    for (uint32_t i = t.index(); i < sampling.adjustments; i += threads)
      if (adjusted[i].token == token) place = i + 1;
    place = row.over.greatest(place);
    const float raw = place > 0 ? adjusted[place - 1].raw : row.logits[token];
    if (writes) to.chosen = {token, raw - max_logit - log_of_all};
  }

  TROUPE_DEVICE static void adjust(const row_sampling& sampling, token_adjustment& a, float& logit) {
    a.raw = logit;
    float x = logit + a.bias;
    if (a.prompt + a.output > 0)
      x = x > 0 ? x / sampling.repetition_penalty : x * sampling.repetition_penalty;
    x -= sampling.frequency_penalty * static_cast<float>(a.output);
    if (a.output > 0) x -= sampling.presence_penalty;
    logit = x;
  }

  template <class Thread>
  TROUPE_DEVICE cut what_is_left(row_view<Thread>& row, const row_sampling& sampling, uint64_t best) const {
    using tally = typename row_view<Thread>::tally;
    cut left;
    if (sampling.top_k > 0 && sampling.top_k < vocabulary)
      left.key = row.highest(0, best + 1, [&](tally x) { return x.count >= sampling.top_k; });
    if (sampling.top_p < 1) {
      const double wanted =
          static_cast<double>(sampling.top_p) * static_cast<double>(row.not_before(left.key).share);
      left.key = row.highest(left.key, best + 1,
                             [&](tally x) { return static_cast<double>(x.share) >= wanted && x.share > 0; });
    }
    left.share = static_cast<uint64_t>(sampling.min_p * 0x1p40F);
    return left;
  }

  static constexpr float log2_e = 1.4426950408889634F;
};

}  // namespace troupe::cuda
