#include "gpu/llm/choose_tokens.hpp"

#include <atomic>
#include <cassert>
#include <cstddef>
#include <new>

#include "gpu/llm/sampling_arguments.hpp"

namespace troupe::llm {
namespace {

void choose(const float* logits, uint32_t vocabulary, const token_sampling& w, chosen_token& out) {
  static thread_local sampling_arguments arguments;
  auto a = arguments.of(w, vocabulary);
  a.logits = logits;
  sampling_arguments::fill_logprobs(kernels::sampling(a), a.top, a.top_entries, out);
}

}  // namespace

void choose_tokens(std::span<const float> logits, uint32_t vocabulary,
                   std::span<const token_sampling> samplings, std::vector<chosen_token>& out) {
  assert(logits.size() == samplings.size() * vocabulary);
  out.resize(samplings.size());
  std::atomic<bool> no_memory = false;  // exceptions must not leave a parallel region
#pragma omp parallel for schedule(dynamic) if (samplings.size() > 1 && logits.size() > 1 << 16)
  for (size_t i = 0; i < samplings.size(); ++i) {
    try {
      choose(logits.data() + i * vocabulary, vocabulary, samplings[i], out[i]);
    } catch (const std::bad_alloc&) {
      no_memory = true;
    }
  }
  if (no_memory) throw std::bad_alloc();
}

}  // namespace troupe::llm
