#include <algorithm>
#include <cmath>
#include <vector>

#include "gpu/kernels/cpu/simd.hpp"
#include "gpu/kernels/philox.hpp"
#include "gpu/kernels/sampling.hpp"

#define TROUPE_ISA_BODY "gpu/kernels/cpu/sampling_simd.inc"
#include "gpu/kernels/cpu/each_isa.inc"

namespace troupe::kernels {

namespace {

constexpr size_t block = 1024;  ///< tokens per partial sum of weights

struct candidate {
  uint32_t token;
  float value;
};

/// Order: the more likely token first, then the lower id.
bool before(const candidate& x, const candidate& y) {
  return x.value != y.value ? x.value > y.value : x.token < y.token;
}

/// The first k tokens in that order, sorted. Most tokens cost one comparison.
void select_first(const float* values, uint32_t n, size_t k, std::vector<candidate>& out) {
  out.clear();
  const size_t room = std::max<size_t>(4 * k, 256);
  float floor = 0;
  bool full = false;  // k tokens with lower ids are at least as likely as `floor`
  const auto shrink = [&] {
    if (out.size() <= k) return;
    full = true;
    std::nth_element(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(k - 1), out.end(), before);
    out.resize(k);
    floor = out[k - 1].value;
  };
  for (uint32_t i = 0; i < n; ++i) {
    if (full && values[i] <= floor) continue;
    out.push_back({i, values[i]});
    if (out.size() == room) shrink();
  }
  shrink();
  std::sort(out.begin(), out.end(), before);
}

/// Buffers that a thread reuses from call to call.
struct scratch {
  std::vector<float> logits, weights;
  std::vector<double> sums;  ///< of blocks
  std::vector<candidate> kept;
};

/// The logits with biases and penalties; null if a result is not a valid logit.
const float* adjusted(const sampling_args& a, scratch& s) {
  if (a.bias_entries == 0 && a.count_entries == 0) return a.logits;
  const sampling_parameters& p = a.parameters;
  s.logits.assign(a.logits, a.logits + a.vocabulary);
  for (size_t i = 0; i < a.bias_entries; ++i) s.logits[a.biases[i].token] += a.biases[i].bias;
  for (size_t i = 0; i < a.count_entries; ++i) {
    const token_count& count = a.counts[i];
    float& x = s.logits[count.token];
    if (count.prompt + count.output > 0) x = x > 0 ? x / p.repetition_penalty : x * p.repetition_penalty;
    x -= p.frequency_penalty * static_cast<float>(count.output);
    if (count.output > 0) x -= p.presence_penalty;
  }
  const auto broken = [&](uint32_t token) {
    return !(s.logits[token] < std::numeric_limits<float>::infinity());
  };
  for (size_t i = 0; i < a.bias_entries; ++i)
    if (broken(a.biases[i].token)) return nullptr;
  for (size_t i = 0; i < a.count_entries; ++i)
    if (broken(a.counts[i].token)) return nullptr;
  return s.logits.data();
}

/// Applies top_p and min_p to `kept`, which is sorted by weight, with weights as values. `total`: sum of all
/// weights that top_p counts.
void filter(const sampling_parameters& p, double total, std::vector<candidate>& kept) {
  if (p.top_p < 1) {
    double share = 0;
    size_t n = 0;
    while (n < kept.size() && share < p.top_p * total) share += kept[n++].value;
    kept.resize(std::max<size_t>(n, 1));
  }
  while (kept.size() > 1 && kept.back().value < p.min_p) kept.pop_back();
}

/// The token at fraction `u` of the cumulative weight, in the order of ids.
uint32_t draw(std::vector<candidate>& kept, double u) {
  std::sort(kept.begin(), kept.end(),
            [](const candidate& x, const candidate& y) { return x.token < y.token; });
  double left = 0;
  for (const candidate& c : kept) left += c.value;
  left *= u;
  uint32_t chosen = kept[0].token;
  for (const candidate& c : kept) {
    if (c.value > 0) chosen = c.token;
    left -= c.value;
    if (left < 0) break;
  }
  return chosen;
}

/// The same over all weights, by blocks.
uint32_t draw_of_all(const scratch& s, double total, double u) {
  double left = u * total;
  size_t b = 0;
  for (; b + 1 < s.sums.size() && left >= s.sums[b]; ++b) left -= s.sums[b];
  while (b > 0 && s.sums[b] == 0) --b;  // rounding went past the last weight
  const size_t end = std::min((b + 1) * block, s.weights.size());
  uint32_t chosen = 0;
  for (size_t i = b * block; i < end; ++i) {
    if (s.weights[i] > 0) chosen = static_cast<uint32_t>(i);
    left -= s.weights[i];
    if (left < 0) break;
  }
  return chosen;
}

/// The tokens at least as likely as any that top_p can keep, sorted by weight.
void select_share(const scratch& s, double share, float min_p, std::vector<candidate>& kept) {
  for (float floor = 0x1p-6F;; floor *= 0x1p-6F) {
    kept.clear();
    double sum = 0;
    for (size_t i = 0; i < s.weights.size(); ++i) {
      if (s.weights[i] < floor) continue;
      kept.push_back({static_cast<uint32_t>(i), s.weights[i]});
      sum += s.weights[i];
    }
    if (sum >= share || floor < min_p || floor == 0) break;
  }
  std::sort(kept.begin(), kept.end(), before);
}

/// no_token if there is no valid distribution.
uint32_t choose(const sampling_args& a, const float* logits, scratch& s) {
  const sampling_parameters& p = a.parameters;
  const float max_logit = TROUPE_PICK(largest_of)(logits, a.vocabulary);
  if (!std::isfinite(max_logit)) return no_token;
  if (p.temperature == 0 || p.top_k == 1) {
    return static_cast<uint32_t>(std::find(logits, logits + a.vocabulary, max_logit) - logits);
  }
  const auto weigh = TROUPE_PICK(weigh);
  const float inverse = 1 / p.temperature;
  const double u = uniform(p.seed, a.position);
  if (p.top_k > 0 && p.top_k < a.vocabulary) {
    select_first(logits, a.vocabulary, p.top_k, s.kept);
    s.weights.resize(s.kept.size());
    for (size_t i = 0; i < s.kept.size(); ++i) s.weights[i] = s.kept[i].value;
    weigh(s.weights.data(), s.kept.size(), max_logit, inverse, s.weights.data());
    double total = 0;
    for (size_t i = 0; i < s.kept.size(); ++i) total += s.kept[i].value = s.weights[i];
    filter(p, total, s.kept);
    return draw(s.kept, u);
  }
  s.weights.resize(a.vocabulary);
  s.sums.clear();
  double total = 0;
  for (size_t i = 0; i < a.vocabulary; i += block) {
    const size_t n = std::min<size_t>(block, a.vocabulary - i);
    s.sums.push_back(weigh(logits + i, n, max_logit, inverse, &s.weights[i]));
    total += s.sums.back();
  }
  if (p.top_p >= 1 && p.min_p <= 0) return draw_of_all(s, total, u);
  select_share(s, std::min(1.0F, p.top_p) * total, p.min_p, s.kept);
  filter(p, total, s.kept);
  return draw(s.kept, u);
}

}  // namespace

token_logprob sampling(const sampling_args& a) {
  if (a.vocabulary == 0) return {no_token, 0};
  static thread_local scratch s;
  const float max_logit = TROUPE_PICK(largest_of)(a.logits, a.vocabulary);
  const auto weigh = TROUPE_PICK(weigh);
  double sum = 0;
  for (size_t i = 0; i < a.vocabulary; i += block)
    sum += weigh(a.logits + i, std::min<size_t>(block, a.vocabulary - i), max_logit, 1, nullptr);
  if (!std::isfinite(max_logit) || !std::isfinite(sum)) return {no_token, 0};
  const float* logits = adjusted(a, s);
  const uint32_t chosen = logits ? choose(a, logits, s) : no_token;
  if (chosen == no_token) return {no_token, 0};
  const double all = max_logit + std::log(sum);
  if (a.top_entries > 0) {
    select_first(a.logits, a.vocabulary, a.top_entries, s.kept);
    for (uint32_t i = 0; i < a.top_entries; ++i)
      a.top[i] = {s.kept[i].token, static_cast<float>(s.kept[i].value - all)};
  }
  return {chosen, static_cast<float>(a.logits[chosen] - all)};
}

}  // namespace troupe::kernels
