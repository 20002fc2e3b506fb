// Lazy memory: mappings that take pages of the machine only where they are used.
#pragma once
#include <cstddef>
#include <span>

namespace troupe {

/// Takes the pages of `memory` now, so that later accesses neither wait for them nor fail. Their content
/// stays. False if the machine, or the file system of shared memory, has none left. Kernels before 5.14 take
/// pages at the first access instead.
bool make_present(std::span<std::byte> memory);

/// Gives the pages of `memory`, a whole mapping, back to the machine, if it can: they read as zeros until
/// they are taken again. Never for memory that is registered with a network card, which would keep to the
/// former pages: `pinned_bytes` grows with such a registration.
void discard_pages(std::span<std::byte> memory);

/// Memory of this process that devices access directly, in bytes; all of it if unknown.
size_t pinned_bytes();

}  // namespace troupe
