#include "gpu/llm/layer_content.hpp"

#include <algorithm>
#include <array>
#include <utility>

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

void layer_content::write(image_part& to) const {
  auto p =
      std::ranges::partition_point(pieces_, [&](const piece& x) { return x.at + x.bytes <= to.begin(); });
  for (; p != pieces_.end() && p->at < to.end(); ++p)
    if (const auto* n = std::get_if<std::vector<float>>(&p->content))
      to.write(p->at, std::as_bytes(std::span(*n)));
    else if (const auto* s = std::get_if<std::span<const std::byte>>(&p->content))
      to.write(p->at, *s);
    else
      write_blocks(std::get<kernels::weight_blocks>(p->content), p->at, to);
  to.write(to.end(), {});  // the gap before the next part's piece
}

}  // namespace troupe::llm
