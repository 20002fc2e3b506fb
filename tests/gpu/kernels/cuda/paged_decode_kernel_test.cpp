#include "gpu/kernels/cuda/paged_decode_kernel.hpp"

#include <doctest/doctest.h>

#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cuda/attention_case.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

template <element E, uint32_t Dim, uint32_t Halves>
void run_decode(attention_case& c, uint32_t order) {
  shared_array<decode_item> items(c.plan.decode);
  shared_array<uint32_t> count(1), arrived(c.rows * c.of.kv_heads);
  shared_array<float> partial_out(c.plan.decode.size() * c.of.heads * Dim),
      partial_sums(c.plan.decode.size() * c.of.heads * 2);
  count[0] = static_cast<uint32_t>(c.plan.decode.size());
  for (size_t i = 0; i < arrived.size(); ++i) arrived[i] = 0;
  paged_decode_kernel<E, Dim, Halves> k;
  c.set_up(k);
  k.item_count = count.data(), k.items = items.data();
  k.partial_out = partial_out.data(), k.partial_sums = partial_sums.data(), k.arrived = arrived.data();
  run_kernel(k, k.grid(1), order);
  int left = 0;
  for (size_t i = 0; i < arrived.size(); ++i) left += arrived[i] != 0;
  CHECK(left == 0);
  CHECK(partial_out.intact());
  CHECK(partial_sums.intact());
}

template <element E, uint32_t Dim>
void check_decode(attention_shape s, uint32_t tried_orders = 1) {
  s.head_dim = Dim;
  CAPTURE(Dim);
  CAPTURE(s.tokens[0]);
  for (uint32_t order = 0; order < tried_orders; ++order) {
    attention_case both(E, s), one(E, s);
    run_decode<E, Dim, 2>(both, order);
    both.check(1);
    if (s.heads / s.kv_heads > 8) continue;
    run_decode<E, Dim, 1>(one, order);
    CHECK(differences(one.out, both.out) == 0);
  }
}

attention_shape decodes(std::vector<uint32_t> tokens) {
  attention_shape s;
  s.rows.assign(tokens.size(), 1), s.tokens = std::move(tokens);
  return s;
}

}  // namespace

TEST_CASE("paged decode kernel: sequences of any length, with partial tiles and chunks") {
  check_decode<element::bf16, 64>(decodes({1, 2, 15, 16, 17, 31, 127}));
  check_decode<element::f16, 128>(decodes({128, 129, 300}), orders);
  check_decode<element::bf16, 128>(decodes({1, 257}), orders);
}

TEST_CASE("paged decode kernel: head sizes and groups of heads") {
  attention_shape s = decodes({40, 150});
  check_decode<element::bf16, 16>(s);
  check_decode<element::f16, 32>(s);
  s.heads = 8, s.kv_heads = 1;
  check_decode<element::bf16, 64>(s);
  s.heads = 3, s.kv_heads = 3;
  check_decode<element::f16, 64>(s);
  s.heads = 16, s.kv_heads = 1;
  check_decode<element::bf16, 128>(s);
}

TEST_CASE("paged decode kernel: pages of any size") {
  for (const uint32_t page_tokens : {1, 5, 32, 512}) {
    attention_shape s = decodes({33, 140});
    s.page_tokens = page_tokens;
    check_decode<element::bf16, 32>(s);
  }
}

TEST_CASE("paged decode kernel: a window") {
  for (const uint32_t window : {1, 16, 20, 130}) {
    attention_shape s = decodes({1, 19, 128, 290});
    s.window = window;
    check_decode<element::f16, 32>(s, orders);
  }
}

TEST_CASE("paged decode kernel: rows of prefills are not written") {
  attention_shape s = decodes({20, 30, 5});
  s.rows = {1, 3, 1};
  check_decode<element::bf16, 64>(s);
}

TEST_CASE("paged decode kernel: a row's bits do not depend on the batch or on its pages") {
  attention_shape s = decodes({270, 33, 140});
  attention_case many(element::bf16, s, 5, 0);
  run_decode<element::bf16, 64, 1>(many, 1);
  s.rows = {1}, s.tokens = {270};
  attention_case one(element::bf16, s, 5, 1);
  run_decode<element::bf16, 64, 1>(one, 2);
  const size_t row = size_t{s.heads} * s.head_dim;
  CHECK(std::equal(one.out.data(), one.out.data() + row, many.out.data()));
}
