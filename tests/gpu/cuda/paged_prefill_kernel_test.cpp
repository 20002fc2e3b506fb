#include "gpu/cuda/paged_prefill_kernel.hpp"

#include <doctest/doctest.h>

#include "tests/gpu/cuda/attention_case.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

template <element E, uint32_t Dim>
void run_prefill(attention_case& c, uint32_t order) {
  shared_array<prefill_item> items(c.plan.prefill);
  shared_array<uint32_t> count(1);
  count[0] = static_cast<uint32_t>(c.plan.prefill.size());
  paged_prefill_kernel<E, Dim> k;
  c.set_up(k);
  k.item_count = count.data(), k.items = items.data();
  run_kernel(k, k.grid(count[0] + 1), order);
}

template <element E, uint32_t Dim>
void check_prefill(attention_shape s, uint32_t tried_orders = 1) {
  s.head_dim = Dim;
  CAPTURE(Dim);
  CAPTURE(s.tokens[0]);
  for (uint32_t order = 0; order < tried_orders; ++order) {
    attention_case c(E, s);
    run_prefill<E, Dim>(c, order);
    c.check(2);
  }
}

attention_shape prompts(std::vector<uint32_t> rows, std::vector<uint32_t> tokens) {
  attention_shape s;
  s.rows = std::move(rows), s.tokens = std::move(tokens);
  return s;
}

}  // namespace

TEST_CASE("paged prefill kernel: prompts from the start, of any length") {
  check_prefill<element::bf16, 64>(prompts({2, 16, 65}, {2, 16, 65}), orders);
  check_prefill<element::f16, 128>(prompts({130}, {130}), orders);
}

TEST_CASE("paged prefill kernel: pieces of prompts, beside decodes") {
  check_prefill<element::bf16, 32>(prompts({7, 1, 70}, {100, 9, 150}));
}

TEST_CASE("paged prefill kernel: head sizes, groups of heads, pages of any size") {
  attention_shape s = prompts({20, 3}, {75, 3});
  s.page_tokens = 3;
  check_prefill<element::bf16, 16>(s);
  s.heads = 8, s.kv_heads = 1, s.page_tokens = 100;
  check_prefill<element::f16, 32>(s);
  s.heads = 2, s.page_tokens = 32;
  check_prefill<element::bf16, 128>(s);
}

TEST_CASE("paged prefill kernel: a window") {
  for (const uint32_t window : {1, 16, 70}) {
    attention_shape s = prompts({66, 5}, {200, 5});
    s.window = window;
    check_prefill<element::f16, 32>(s);
  }
}

TEST_CASE("paged prefill kernel: a row's bits do not depend on how its prompt is cut") {
  constexpr uint32_t dim = 64;
  attention_case whole(element::bf16, prompts({90}, {90}), 6);
  run_prefill<element::bf16, dim>(whole, 1);
  attention_case end(element::bf16, prompts({53}, {90}), 6);
  const size_t q = end.stride(), row = size_t{end.of.heads} * dim;
  for (uint32_t r = 0; r < 53; ++r) std::copy_n(whole.q.data() + (37 + r) * q, q, end.q.data() + r * q);
  run_prefill<element::bf16, dim>(end, 2);
  CHECK(std::equal(end.out.data(), end.out.data() + 53 * row, whole.out.data() + 37 * row));
}
