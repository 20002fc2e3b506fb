#include "gpu/llm/adapter_weights.hpp"

namespace troupe::llm {
namespace {

constexpr size_t alignment = 64;
size_t aligned(size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

adapter_weights::adapter_weights(const adapter& from, uint32_t layers, element type)
    : parts_(size_t{layers} * projection_count), max_rank_(from.max_rank) {
  const auto bytes_of = [&](const weight_view& w) {
    return aligned(w.shape[0] * w.shape[1] * element_bytes(type));
  };
  size_t total = 0;
  for (const auto& p : from.parts) total += bytes_of(p.a) + bytes_of(p.b);
  memory_ = aligned_bytes(total);

  std::byte* to = memory_.data();
  for (const auto& p : from.parts) {
    const size_t in = p.a.shape[1], out = p.b.shape[0];
    auto& mine = parts_[size_t{p.layer} * projection_count + static_cast<size_t>(p.target)];
    mine = {to, to + bytes_of(p.a), p.rank, p.scale};
    for (size_t i = 0; i < p.rank * in; ++i)
      set_element(to, type, i, element_at(p.a.bytes.data(), p.a.type, i));
    to += bytes_of(p.a);
    for (size_t o = 0; o < out; ++o)
      for (size_t r = 0; r < p.rank; ++r)
        set_element(to, type, r * out + o, element_at(p.b.bytes.data(), p.b.type, o * p.rank + r));
    to += bytes_of(p.b);
  }
}

}  // namespace troupe::llm
