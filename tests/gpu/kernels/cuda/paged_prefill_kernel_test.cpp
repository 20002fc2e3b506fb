#include "gpu/kernels/cuda/paged_prefill_kernel.hpp"

#include <doctest/doctest.h>

#include "tests/gpu/kernels/cuda/prefill_case.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

template <element E, uint32_t Dim>
void check_paged(const attention_shape& s, uint32_t tried_orders = 1) {
  check_prefill<paged_prefill_kernel, E, Dim>(s, tried_orders);
}

}  // namespace

TEST_CASE("paged prefill kernel: prompts from the start, of any length") {
  check_paged<element::bf16, 64>(prompts({2, 16, 65}, {2, 16, 65}), orders);
  check_paged<element::f16, 128>(prompts({130}, {130}), orders);
}

TEST_CASE("paged prefill kernel: chunks of prompts, beside decodes") {
  check_paged<element::bf16, 32>(prompts({7, 1, 70}, {100, 9, 150}));
}

TEST_CASE("paged prefill kernel: head sizes, groups of heads, pages of any size") {
  attention_shape s = prompts({20, 3}, {75, 3});
  s.page_tokens = 3;
  check_paged<element::bf16, 16>(s);
  s.heads = 8, s.kv_heads = 1, s.page_tokens = 100;
  check_paged<element::f16, 32>(s);
  s.heads = 2, s.page_tokens = 32;
  check_paged<element::bf16, 128>(s);
}

TEST_CASE("paged prefill kernel: a window") {
  for (const uint32_t window : {1, 16, 70}) {
    attention_shape s = prompts({66, 5}, {200, 5});
    s.window = window;
    check_paged<element::f16, 32>(s);
  }
}

TEST_CASE("paged prefill kernel: a row's bits do not depend on the chunks of its prompt") {
  check_cut_prompt<paged_prefill_kernel>();
}
