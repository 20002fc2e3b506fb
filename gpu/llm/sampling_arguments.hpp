// Converts a token's sampling parameters to arguments of the sampling kernel (gpu/kernels/sampling.hpp), and
// its results back.
#pragma once
#include <algorithm>
#include <cassert>
#include <vector>

#include "gpu/kernels/sampling.hpp"
#include "messages/llm/token_choice.hpp"

namespace troupe::llm {

/// Reuses its memory from token to token.
class sampling_arguments {
 public:
  /// Leaves the logits out. The result points into this object and is valid until the next call. Requires:
  /// the tokens of counts and biases are in the vocabulary.
  kernels::sampling_args of(const token_sampling& w, uint32_t vocabulary) {
    counts_.clear(), biases_.clear();
    for (const auto& c : w.counts) counts_.push_back({checked(c.which, vocabulary), c.prompt, c.output});
    for (const auto& b : w.params->biases) biases_.push_back({checked(b.which, vocabulary), b.bias});
    top_.resize(std::min(w.top, vocabulary));
    const auto& params = *w.params;
    kernels::sampling_args a;
    a.vocabulary = vocabulary;
    a.parameters = {.temperature = params.temperature,
                    .top_k = params.top_k,
                    .top_p = params.top_p,
                    .min_p = params.min_p,
                    .repetition_penalty = params.repetition_penalty,
                    .presence_penalty = params.presence_penalty,
                    .frequency_penalty = params.frequency_penalty,
                    .seed = w.seed};
    a.counts = counts_.data(), a.count_entries = counts_.size();
    a.biases = biases_.data(), a.bias_entries = biases_.size();
    a.position = w.position;
    a.top = top_.data(), a.top_entries = static_cast<uint32_t>(top_.size());
    return a;
  }

  /// Fills `out` with the chosen token and its `top` alternatives.
  static void fill_logprobs(const kernels::token_logprob& chosen, const kernels::token_logprob* top,
                            size_t top_entries, chosen_token& out) {
    out.valid = chosen.token != kernels::no_token;
    out.which = out.valid ? static_cast<token>(chosen.token) : 0;
    out.logprob = chosen.logprob;
    out.top.clear();
    for (size_t i = 0; i < top_entries && out.valid; ++i)
      out.top.push_back({static_cast<token>(top[i].token), top[i].logprob});
  }

 private:
  static uint32_t checked(token which, [[maybe_unused]] uint32_t vocabulary) {
    assert(which >= 0 && static_cast<uint32_t>(which) < vocabulary);
    return static_cast<uint32_t>(which);
  }

  std::vector<kernels::token_count> counts_;
  std::vector<kernels::token_bias> biases_;
  std::vector<kernels::token_logprob> top_;
};

}  // namespace troupe::llm
