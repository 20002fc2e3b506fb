// Stores past the caches: they neither read their lines first nor displace what the caches hold.
#pragma once
#include <cstddef>
#include <span>

namespace troupe::kernels {

/// Copies bytes that are in the caches. `to` may be at any byte.
void streaming_store(std::span<const std::byte> from, std::byte* to);
/// Makes the calling thread's stores visible to others before what it writes next.
void end_streaming_stores();

}  // namespace troupe::kernels
