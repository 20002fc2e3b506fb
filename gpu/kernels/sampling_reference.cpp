#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "gpu/kernels/philox.hpp"
#include "gpu/kernels/sampling.hpp"

namespace troupe::kernels {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The logarithm of the sum of exponentials; NaN if there is no valid distribution.
double log_sum(const std::vector<float>& logits) {
  const double max_logit = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - max_logit);
  return max_logit + std::log(sum);
}

}  // namespace

token_logprob sampling_reference(const sampling_args& a) {
  const sampling_parameters& p = a.parameters;
  std::vector<float> logits(a.logits, a.logits + a.vocabulary);
  if (logits.empty()) return {no_token, 0};
  const auto broken = [](float x) { return std::isnan(x) || x == infinity; };
  const double all = log_sum(logits);
  if (std::any_of(logits.begin(), logits.end(), broken) || !std::isfinite(all)) return {no_token, 0};
  for (size_t i = 0; i < a.bias_entries; ++i) logits[a.biases[i].token] += a.biases[i].bias;
  for (size_t i = 0; i < a.count_entries; ++i) {
    float& x = logits[a.counts[i].token];
    if (a.counts[i].prompt + a.counts[i].output > 0)
      x = x > 0 ? x / p.repetition_penalty : x * p.repetition_penalty;
    x -= p.frequency_penalty * static_cast<float>(a.counts[i].output);
    if (a.counts[i].output > 0) x -= p.presence_penalty;
  }
  if (std::any_of(logits.begin(), logits.end(), broken) || !std::isfinite(log_sum(logits)))
    return {no_token, 0};

  std::vector<uint32_t> order(a.vocabulary);
  const auto sorted_by = [&](const auto& values) {
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t x, uint32_t y) { return values[x] > values[y]; });
  };
  sorted_by(a.logits);
  for (uint32_t i = 0; i < a.top_entries; ++i)
    a.top[i] = {order[i], static_cast<float>(a.logits[order[i]] - all)};

  sorted_by(logits);
  const double max_logit = logits[order[0]];
  size_t kept = p.temperature == 0 ? 1
                : p.top_k == 0     ? order.size()
                                   : std::min<size_t>(p.top_k, order.size());
  const auto weight = [&](uint32_t token) { return std::exp((logits[token] - max_logit) / p.temperature); };
  uint32_t chosen = order[0];
  if (kept > 1) {
    double total = 0, share = 0;
    for (size_t i = 0; i < kept; ++i) total += weight(order[i]);
    if (p.top_p < 1) {
      size_t n = 0;
      while (n < kept && share < p.top_p * total) share += weight(order[n++]);
      kept = std::max<size_t>(n, 1);
    }
    order.resize(kept);
    std::erase_if(order, [&](uint32_t token) { return token != chosen && weight(token) < p.min_p; });
    std::sort(order.begin(), order.end());
    total = 0;
    for (const uint32_t token : order) total += weight(token);
    double left = uniform(p.seed, a.position) * total;
    for (const uint32_t token : order) {
      if (weight(token) > 0) chosen = token;
      left -= weight(token);
      if (left < 0) break;
    }
  }
  return {chosen, static_cast<float>(a.logits[chosen] - all)};
}

}  // namespace troupe::kernels
