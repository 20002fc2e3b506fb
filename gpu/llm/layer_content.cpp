#include "gpu/llm/layer_content.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "gpu/kernels/conversion.hpp"

namespace troupe::llm {
namespace {

/// Those of the blocks that the part has bytes of.
void write_blocks(const kernels::weight_blocks& blocks, uint64_t at, image_part& to) {
  alignas(64) std::array<std::byte, kernels::weight_blocks::max_block_bytes> block;
  auto b = to.begin() > at ? blocks.block_at(to.begin() - at) : 0;
  for (; b < blocks.count() && at + blocks.offset(b) < to.end(); ++b)
    to.write(at + blocks.offset(b), std::span(block).first(blocks.make(b, block.data())));
}

}  // namespace

void layer_content::add(uint64_t at, std::vector<float> numbers) {
  const auto bytes = numbers.size() * sizeof(float);
  pieces_.push_back({at, bytes, std::move(numbers)});
}

void layer_content::add(uint64_t at, std::span<const std::byte> bytes) {
  pieces_.push_back({at, bytes.size(), bytes});
}

void layer_content::add(uint64_t at, kernels::weight_blocks blocks) {
  const auto bytes = blocks.bytes();
  pieces_.push_back({at, bytes, std::move(blocks)});
}

void layer_content::add(uint64_t at, const weight_view& numbers, element type) {
  if (numbers.type == type) return add(at, numbers.bytes);
  const auto count = numbers.bytes.size() / element_bytes(numbers.type);
  pieces_.push_back({at, count * element_bytes(type), rounded{numbers.bytes, numbers.type, type}});
}

/// Some numbers at a time, from the one with the part's first byte on.
void layer_content::write(const rounded& r, uint64_t at, image_part& to) {
  alignas(64) std::array<std::byte, 4096> some;
  const auto size = element_bytes(r.to), count = r.numbers.size() / element_bytes(r.from);
  auto first = to.begin() > at ? (to.begin() - at) / size : 0;
  while (first < count && at + first * size < to.end()) {
    const auto n = std::min(some.size() / size, count - first);
    const auto* numbers = r.numbers.data() + first * element_bytes(r.from);
    kernels::conversion({numbers, r.from, some.data(), r.to, n});
    to.write(at + first * size, std::span(some).first(n * size));
    first += n;
  }
}

void layer_content::write(image_part& to) const {
  auto p =
      std::ranges::partition_point(pieces_, [&](const piece& x) { return x.at + x.bytes <= to.begin(); });
  for (; p != pieces_.end() && p->at < to.end(); ++p)
    if (const auto* n = std::get_if<std::vector<float>>(&p->content))
      to.write(p->at, std::as_bytes(std::span(*n)));
    else if (const auto* s = std::get_if<std::span<const std::byte>>(&p->content))
      to.write(p->at, *s);
    else if (const auto* r = std::get_if<rounded>(&p->content))
      write(*r, p->at, to);
    else
      write_blocks(std::get<kernels::weight_blocks>(p->content), p->at, to);
  to.write(to.end(), {});  // the gap before the next part's piece
}

void layer_content::write(std::span<std::byte> whole) const {
  constexpr size_t part_bytes = 1 << 20;
#pragma omp parallel for schedule(static)
  for (size_t at = 0; at < whole.size(); at += part_bytes) {
    image_part part(whole.subspan(at, std::min(part_bytes, whole.size() - at)), at);
    write(part);
    part.finish();
  }
}

}  // namespace troupe::llm
