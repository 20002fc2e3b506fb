#include "gpu/common/fast_hash.hpp"

#define XXH_STATIC_LINKING_ONLY  // declares the size of the state
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>  // the processor's instructions, chosen at run time
#else
#include <xxhash.h>
#endif

namespace troupe {
namespace {

XXH3_state_t* state_in(std::byte* memory) { return reinterpret_cast<XXH3_state_t*>(memory); }

}  // namespace

uint64_t fast_hash(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

fast_hasher::fast_hasher() {
  static_assert(sizeof(XXH3_state_t) <= sizeof state_ && alignof(XXH3_state_t) <= alignof(fast_hasher));
  XXH3_INITSTATE(state_in(state_.data()));
  XXH3_64bits_reset(state_in(state_.data()));
}

void fast_hasher::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_in(state_.data()), bytes.data(), bytes.size());
}

uint64_t fast_hasher::hash() const {
  return XXH3_64bits_digest(reinterpret_cast<const XXH3_state_t*>(state_.data()));
}

}  // namespace troupe
