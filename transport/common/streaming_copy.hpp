// Copies of large blocks past the caches.
#pragma once
#include <cstddef>
#include <span>

namespace troupe {

/// Size from which a copy past the caches is the faster one: about that of a core's own caches.
inline constexpr size_t streaming_bytes = size_t{1} << 20;

/// Copies without reading the destination first and without displacing what the caches hold. The bytes are
/// visible to other threads as after an ordinary copy. `into` is as large, and does not overlap `from`.
void streaming_copy(std::span<const std::byte> from, std::span<std::byte> into);

}  // namespace troupe
