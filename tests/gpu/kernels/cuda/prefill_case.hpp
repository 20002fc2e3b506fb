// Helpers for the tests of both kernels of prefill attention.
#pragma once
#include "tests/gpu/kernels/cuda/attention_case.hpp"

namespace troupe::cuda {

template <class Kernel>
void run_prefill(attention_case& c, uint32_t order) {
  shared_array<prefill_item> items(c.plan.prefill);
  shared_array<uint32_t> count(1);
  count[0] = static_cast<uint32_t>(c.plan.prefill.size());
  Kernel k;
  c.set_up(k);
  k.item_count = count.data(), k.items = items.data();
  run_kernel(k, k.grid(count[0] + 1), order);
}

template <template <element, uint32_t> class Kernel, element E, uint32_t Dim>
void check_prefill(attention_shape s, uint32_t tried_orders = 1) {
  s.head_dim = Dim;
  CAPTURE(Dim);
  CAPTURE(s.tokens[0]);
  for (uint32_t order = 0; order < tried_orders; ++order) {
    attention_case c(E, s);
    run_prefill<Kernel<E, Dim>>(c, order);
    c.check(2);
  }
}

inline attention_shape prompts(std::vector<uint32_t> rows, std::vector<uint32_t> tokens) {
  attention_shape s;
  s.rows = std::move(rows), s.tokens = std::move(tokens);
  return s;
}

/// The last 53 rows of 90 give the same bits when computed alone.
template <template <element, uint32_t> class Kernel>
void check_cut_prompt() {
  constexpr uint32_t dim = 64;
  attention_case whole(element::bf16, prompts({90}, {90}), 6);
  run_prefill<Kernel<element::bf16, dim>>(whole, 1);
  attention_case end(element::bf16, prompts({53}, {90}), 6);
  const size_t q = end.stride(), row = size_t{end.of.heads} * dim;
  for (uint32_t r = 0; r < 53; ++r) std::copy_n(whole.q.data() + (37 + r) * q, q, end.q.data() + r * q);
  run_prefill<Kernel<element::bf16, dim>>(end, 2);
  CHECK(std::equal(end.out.data(), end.out.data() + 53 * row, whole.out.data() + 37 * row));
}

}  // namespace troupe::cuda
