// The types in which weights and KV pages are stored. Activations are always float.
#pragma once
#include <cstddef>
#include <cstdint>

#include "gpu/common/half.hpp"

namespace troupe {

enum class element : uint8_t { f32, f16, bf16 };

constexpr size_t element_bytes(element type) { return type == element::f32 ? 4 : 2; }

/// The number at `index` in an array of `type`.
inline float element_at(const void* data, element type, size_t index) {
  switch (type) {
    case element::f16: return static_cast<float>(static_cast<const half*>(data)[index]);
    case element::bf16: return static_cast<float>(static_cast<const bfloat*>(data)[index]);
    default: return static_cast<const float*>(data)[index];
  }
}

/// Stores x rounded to `type`: to nearest, ties to even.
inline void set_element(void* data, element type, size_t index, float x) {
  switch (type) {
    case element::f16: static_cast<half*>(data)[index] = half(x); break;
    case element::bf16: static_cast<bfloat*>(data)[index] = bfloat(x); break;
    default: static_cast<float*>(data)[index] = x;
  }
}

}  // namespace troupe
