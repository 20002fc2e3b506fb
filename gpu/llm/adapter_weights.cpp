#include "gpu/llm/adapter_weights.hpp"

#include <algorithm>
#include <type_traits>

namespace troupe::llm {
namespace {

constexpr size_t alignment = 64;
size_t aligned(size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// Calls `f` with a null pointer whose type is that of the numbers.
template <class F>
void with_type(element type, const F& f) {
  switch (type) {
    case element::f16: return f(static_cast<half*>(nullptr));
    case element::bf16: return f(static_cast<bfloat*>(nullptr));
    default: return f(static_cast<float*>(nullptr));
  }
}

template <class To, class From>
To converted(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else
    return static_cast<To>(static_cast<float>(x));
}

/// Transposes `from` [rows, columns] into `to` [columns, rows], by blocks of rows that stay in the cache.
template <class To, class From>
void transpose(const From* from, To* to, size_t rows, size_t columns) {
  constexpr size_t together = 64;
  for (size_t first = 0; first < rows; first += together) {
    const size_t end = std::min(first + together, rows);
    for (size_t c = 0; c < columns; ++c)
      for (size_t r = first; r < end; ++r) to[c * rows + r] = converted<To>(from[r * columns + c]);
  }
}

}  // namespace

adapter_weights::adapter_weights(const adapter& from, uint32_t layers, element type)
    : parts_(size_t{layers} * projection_count), max_rank_(from.max_rank) {
  const auto bytes_of = [&](const weight_view& w) {
    return aligned(w.shape[0] * w.shape[1] * element_bytes(type));
  };
  size_t total = 0;
  for (const auto& p : from.parts) total += bytes_of(p.a) + bytes_of(p.b);
  memory_ = aligned_bytes(total);

  const auto take = [&](std::byte* to, const weight_view& w, const auto& how) {
    with_type(type, [&]<class To>(To*) {
      with_type(w.type, [&]<class From>(From*) {
        how(reinterpret_cast<const From*>(w.bytes.data()), reinterpret_cast<To*>(to));
      });
    });
  };
  std::byte* to = memory_.data();
  for (const auto& p : from.parts) {
    const size_t in = p.a.shape[1], out = p.b.shape[0];
    auto& mine = parts_[index(p.layer, p.target)];
    mine = {to, to + bytes_of(p.a), p.rank, p.scale};
    take(to, p.a, [&]<class From, class To>(const From* a, To* copy) {
      std::transform(a, a + p.rank * in, copy, converted<To, From>);
    });
    to += bytes_of(p.a);
    take(to, p.b,
         [&]<class From, class To>(const From* b, To* turned) { transpose(b, turned, out, p.rank); });
    to += bytes_of(p.b);
  }
}

}  // namespace troupe::llm
