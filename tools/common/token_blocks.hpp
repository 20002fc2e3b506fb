// The KV cache blocks of commands that run a language model in this process.
#pragma once
#include <cstdint>

namespace troupe {

inline constexpr uint32_t tokens_a_block = 16;

}  // namespace troupe
