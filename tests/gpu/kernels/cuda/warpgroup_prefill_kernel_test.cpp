#include "gpu/kernels/cuda/warpgroup_prefill_kernel.hpp"

#include <doctest/doctest.h>

#include "tests/gpu/kernels/cuda/prefill_case.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

template <element E, uint32_t Dim>
void check_warpgroups(const attention_shape& s, uint32_t tried_orders = 1) {
  check_prefill<warpgroup_prefill_kernel, E, Dim>(s, tried_orders);
}

}  // namespace

TEST_CASE("warpgroup prefill kernel: prompts from the start, of any length") {
  check_warpgroups<element::bf16, 64>(prompts({2, 64, 65}, {2, 64, 65}), orders);
  check_warpgroups<element::f16, 128>(prompts({129}, {129}), orders);
}

TEST_CASE("warpgroup prefill kernel: sequences longer than the rings of tiles") {
  check_warpgroups<element::bf16, 64>(prompts({128, 70}, {600, 333}), orders);
  check_warpgroups<element::f16, 128>(prompts({100}, {420}));
}

TEST_CASE("warpgroup prefill kernel: chunks of prompts, beside decodes") {
  check_warpgroups<element::bf16, 128>(prompts({7, 1, 70}, {100, 9, 150}));
}

TEST_CASE("warpgroup prefill kernel: groups of heads, pages of any size") {
  attention_shape s = prompts({20, 3}, {75, 3});
  for (const uint32_t page : {1, 3, 64, 100}) {
    s.page_tokens = page;
    s.heads = 2, s.kv_heads = 1;
    check_warpgroups<element::bf16, 64>(s);
  }
}

TEST_CASE("warpgroup prefill kernel: a window") {
  for (const uint32_t window : {1, 16, 70, 300}) {
    attention_shape s = prompts({128, 5}, {500, 5});
    s.window = window, s.heads = s.kv_heads = 1;
    check_warpgroups<element::f16, 64>(s);
  }
}

TEST_CASE("warpgroup prefill kernel: a row's bits do not depend on the chunks of its prompt") {
  check_cut_prompt<warpgroup_prefill_kernel>();
}

TEST_CASE("prefill kernel: warpgroups are used if the device and the head size support them") {
  static_assert(
      std::is_same_v<prefill_kernel<element::f16, 64, true>, warpgroup_prefill_kernel<element::f16, 64>>);
  static_assert(
      std::is_same_v<prefill_kernel<element::f16, 32, true>, paged_prefill_kernel<element::f16, 32>>);
  static_assert(
      std::is_same_v<prefill_kernel<element::f16, 128, false>, paged_prefill_kernel<element::f16, 128>>);
}
