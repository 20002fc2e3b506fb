// Random rows for sampling, with every parameter.
#pragma once
#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "gpu/kernels/sampling.hpp"

namespace troupe::kernels {

inline std::vector<float> random_logits(size_t n, std::mt19937& random, float width) {
  std::vector<float> v(n);
  for (float& x : v) x = width * (static_cast<float>(random() % 20001) / 10000 - 1);
  return v;
}

struct sampling_case {
  sampling_case(uint32_t vocabulary, float width, std::mt19937& random)
      : logits(random_logits(vocabulary, random, width)), top(std::min(vocabulary, 5U)) {
    const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    p.temperature = 0.2F * static_cast<float>(below(8));
    p.top_k = below(2) ? below(60) : 0;
    p.top_p = below(2) ? 0.05F + 0.05F * static_cast<float>(below(19)) : 1;
    p.min_p = below(3) ? 0 : 0.01F * static_cast<float>(below(30));
    p.repetition_penalty = below(2) ? 1.3F : 1, p.presence_penalty = below(2) ? 0.5F : 0;
    p.frequency_penalty = below(2) ? 0.25F : 0, p.seed = random();
    for (uint32_t t = below(5); t < vocabulary; t += 1 + below(90)) {
      counts.push_back({t, below(3), below(3)});
      if (below(3) == 0) biases.push_back({t, below(4) ? 1.5F : -std::numeric_limits<float>::infinity()});
    }
    position = random();
  }
  /// Arguments that point into this object.
  sampling_args args() {
    sampling_args a;
    a.logits = logits.data(), a.vocabulary = static_cast<uint32_t>(logits.size()), a.parameters = p;
    a.counts = counts.data(), a.count_entries = counts.size();
    a.biases = biases.data(), a.bias_entries = biases.size(), a.position = position;
    a.top = top.data(), a.top_entries = static_cast<uint32_t>(top.size());
    return a;
  }

  std::vector<float> logits;
  sampling_parameters p;
  std::vector<token_count> counts;
  std::vector<token_bias> biases;
  uint64_t position = 0;
  std::vector<token_logprob> top;
};

}  // namespace troupe::kernels
