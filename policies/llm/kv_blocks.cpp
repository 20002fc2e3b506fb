#include "policies/llm/kv_blocks.hpp"

#include <cassert>

namespace troupe::llm {

kv_blocks::kv_blocks(uint32_t count) : users_(count) {
  free_.reserve(count);
  for (uint32_t b = count; b > 0; --b) free_.push_back(b - 1);
}

uint32_t kv_blocks::take() {
  assert(!free_.empty());
  const auto block = free_.back();
  free_.pop_back();
  users_[block] = 1;
  return block;
}

void kv_blocks::share(uint32_t block) {
  assert(users_[block] > 0);
  ++users_[block];
}

void kv_blocks::give_back(uint32_t block) {
  assert(users_[block] > 0);
  if (--users_[block] == 0) free_.push_back(block);
}

}  // namespace troupe::llm
