#include "gpu/llm/emulated_kv_cache.hpp"

#include <algorithm>

namespace troupe::llm {
namespace {

/// The share of a word in the sum of its block.
uint64_t share(uint64_t word, uint64_t offset) { return mixed(word, offset + 1); }

}  // namespace

emulated_kv_cache::emulated_kv_cache(uint32_t blocks, uint32_t block_tokens, const image_allocator& allocate)
    : block_tokens_(block_tokens) {
  const auto count = size_t{blocks} * block_tokens;
  memory_ = allocate(count * sizeof(uint64_t));
  words_ = {reinterpret_cast<uint64_t*>(memory_.bytes.data()), count};
  std::ranges::fill(words_, 0);
  if (blocks > 0) sums_.assign(blocks, sum_of(0));
}

uint64_t emulated_kv_cache::sum_of(uint32_t block) const {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < block_tokens_; ++i) sum += share(words_[size_t{block} * block_tokens_ + i], i);
  return sum;
}

void emulated_kv_cache::write(size_t place, uint64_t word) {
  const auto offset = place % block_tokens_;
  sums_[place / block_tokens_] += share(word, offset) - share(words_[place], offset);
  words_[place] = word;
}

uint64_t emulated_kv_cache::hash(std::span<const uint32_t> blocks, uint64_t end, uint64_t start) const {
  const auto full = end / block_tokens_;
  uint64_t sum = 0;  // of independent terms, which a processor computes at once
  for (uint64_t b = 0; b < full; ++b) sum += mixed(sums_[blocks[b]], b + 1);
  auto hash = mixed(sum, start);
  for (uint64_t p = full * block_tokens_; p < end; ++p) hash = mixed(words_[place(blocks, p)], hash);
  return hash;
}

}  // namespace troupe::llm
