#include "gpu/llm/choose_tokens.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <new>

#include "gpu/kernels/sampling.hpp"

namespace troupe::llm {
namespace {

kernels::sampling_parameters parameters_of(const choice_wish& w) {
  const auto& how = *w.how;
  return {.temperature = how.temperature,
          .top_k = how.top_k,
          .top_p = how.top_p,
          .min_p = how.min_p,
          .repetition_penalty = how.repetition_penalty,
          .presence_penalty = how.presence_penalty,
          .frequency_penalty = how.frequency_penalty,
          .seed = w.seed};
}

/// What is reused from call to call of a thread.
struct scratch {
  std::vector<kernels::token_count> counts;
  std::vector<kernels::token_bias> biases;
  std::vector<kernels::token_logprob> top;
};

void choose(const float* logits, uint32_t vocabulary, const choice_wish& w, chosen_token& out) {
  static thread_local scratch s;
  s.counts.clear();
  for (const auto& c : w.counts) {
    assert(c.which >= 0 && static_cast<uint32_t>(c.which) < vocabulary);
    s.counts.push_back({static_cast<uint32_t>(c.which), c.prompt, c.output});
  }
  s.biases.clear();
  for (const auto& b : w.how->biases) {
    assert(b.which >= 0 && static_cast<uint32_t>(b.which) < vocabulary);
    s.biases.push_back({static_cast<uint32_t>(b.which), b.bias});
  }
  s.top.resize(std::min(w.top, vocabulary));
  const auto chosen = kernels::sampling({.logits = logits,
                                         .vocabulary = vocabulary,
                                         .parameters = parameters_of(w),
                                         .counts = s.counts.data(),
                                         .count_entries = s.counts.size(),
                                         .biases = s.biases.data(),
                                         .bias_entries = s.biases.size(),
                                         .position = w.position,
                                         .top = s.top.data(),
                                         .top_entries = static_cast<uint32_t>(s.top.size())});
  out.valid = chosen.token != kernels::no_token;
  out.which = out.valid ? static_cast<token>(chosen.token) : 0;
  out.logprob = chosen.logprob;
  out.top.clear();
  if (!out.valid) return;
  for (const auto& t : s.top) out.top.push_back({static_cast<token>(t.token), t.logprob});
}

}  // namespace

void choose_tokens(std::span<const float> logits, uint32_t vocabulary, std::span<const choice_wish> wishes,
                   std::vector<chosen_token>& out) {
  assert(logits.size() == wishes.size() * vocabulary);
  out.resize(wishes.size());
  std::atomic<bool> no_memory = false;  // an exception must not leave a parallel loop
#pragma omp parallel for schedule(dynamic) if (wishes.size() > 1 && logits.size() > 1 << 16)
  for (size_t i = 0; i < wishes.size(); ++i) {
    try {
      choose(logits.data() + i * vocabulary, vocabulary, wishes[i], out[i]);
    } catch (const std::bad_alloc&) {
      no_memory = true;
    }
  }
  if (no_memory) throw std::bad_alloc();
}

}  // namespace troupe::llm
