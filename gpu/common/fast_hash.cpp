#include "gpu/common/fast_hash.hpp"

#ifdef __x86_64__
#include <xxh_x86dispatch.h>  // the processor's instructions, chosen at run time
#else
#include <xxhash.h>
#endif

#include <new>

namespace troupe {

uint64_t fast_hash(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

fast_hasher::fast_hasher() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc{};
  XXH3_64bits_reset(state_.get());
}

void fast_hasher::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
}

uint64_t fast_hasher::hash() const { return XXH3_64bits_digest(state_.get()); }

void fast_hasher::free_state::operator()(XXH3_state_s* s) const { XXH3_freeState(s); }

}  // namespace troupe
