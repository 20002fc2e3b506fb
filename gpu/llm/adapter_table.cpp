#include "gpu/llm/adapter_table.hpp"

#include <algorithm>
#include <cassert>

namespace troupe::llm {
namespace {

/// The adapter's position, or its insertion point.
auto place_of(auto& entries, adapter_id id) {
  return std::ranges::lower_bound(entries, id.value, {}, [](const auto& e) { return e.id.value; });
}

}  // namespace

void adapter_table::load(adapter_id id, std::shared_ptr<const adapter_weights> a) {
  assert(a != nullptr);
  entry e{id, a->max_rank(), a->parts(), std::move(a)};
  const auto at = place_of(entries_, id);
  if (at != entries_.end() && at->id == id)
    *at = std::move(e);
  else
    entries_.insert(at, std::move(e));
}

void adapter_table::unload(adapter_id id) {
  const auto at = place_of(entries_, id);
  if (at != entries_.end() && at->id == id) entries_.erase(at);
}

const adapter_table::entry& adapter_table::at(adapter_id id) const {
  const auto at = place_of(entries_, id);
  assert(at != entries_.end() && at->id == id);
  return *at;
}

uint64_t adapter_table::bytes() const {
  uint64_t sum = 0;
  for (const auto& e : entries_) sum += e.owner->bytes();
  return sum;
}

}  // namespace troupe::llm
