// How commands that run a language model in this process divide its KV cache.
#pragma once
#include <cstdint>

namespace troupe {

inline constexpr uint32_t tokens_a_block = 16;

}  // namespace troupe
