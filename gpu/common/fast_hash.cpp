#include "gpu/common/fast_hash.hpp"

#include <xxhash.h>

namespace troupe {

uint64_t fast_hash(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace troupe
