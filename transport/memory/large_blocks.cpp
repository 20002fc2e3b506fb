#include "transport/memory/large_blocks.hpp"

#include "transport/common/lazy_memory.hpp"

namespace troupe {

std::optional<large_blocks::block> large_blocks::take(uint64_t bytes) {
  const auto size = (bytes + alignment - 1) / alignment * alignment;
  uint64_t at = 0;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [begin, taken] : used_) {
      if (begin - at >= size) break;
      at = begin + taken;
    }
    if (size == 0 || size > capacity() || at > capacity() - size) return std::nullopt;
    used_.emplace(at, size);
  }
  const auto memory = arena_.bytes.subspan(at, size);
  auto owner =
      std::shared_ptr<void>(memory.data(), [self = shared_from_this(), at](void*) { self->give_back(at); });
  return block{memory.first(bytes), arena_.offset + at, std::move(owner)};
}

void large_blocks::give_back(uint64_t at) {
  const std::scoped_lock lock(mutex_);
  const auto found = used_.find(at);
  // A network card that has registered the arena keeps to its pages.
  if (pinned_bytes() == 0) discard_pages(arena_.bytes.subspan(at, found->second));
  used_.erase(found);
}

uint64_t large_blocks::in_use() const {
  const std::scoped_lock lock(mutex_);
  uint64_t out = 0;
  for (const auto& [_, bytes] : used_) out += bytes;
  return out;
}

}  // namespace troupe
