// Loads and stores of numbers of any type: read as T, written as the nearest number of their type.
#pragma once
#include <cmath>
#include <limits>
#include <type_traits>

#include "gpu/common/half.hpp"
#include "gpu/kernels/cuda/device_code.hpp"
#include "messages/tensor/tensor.hpp"

namespace troupe::cuda {

/// The number at `index`. A BOOL reads as 0 or 1; any non-zero byte is 1.
template <class T>
TROUPE_BOTH T load_number(const void* data, data_type type, int64_t index) {
  switch (type) {
    case data_type::boolean: return static_cast<T>(static_cast<const uint8_t*>(data)[index] != 0);
    case data_type::uint8: return static_cast<T>(static_cast<const uint8_t*>(data)[index]);
    case data_type::uint16: return static_cast<T>(static_cast<const uint16_t*>(data)[index]);
    case data_type::uint32: return static_cast<T>(static_cast<const uint32_t*>(data)[index]);
    case data_type::uint64: return static_cast<T>(static_cast<const uint64_t*>(data)[index]);
    case data_type::int8: return static_cast<T>(static_cast<const int8_t*>(data)[index]);
    case data_type::int16: return static_cast<T>(static_cast<const int16_t*>(data)[index]);
    case data_type::int32: return static_cast<T>(static_cast<const int32_t*>(data)[index]);
    case data_type::int64: return static_cast<T>(static_cast<const int64_t*>(data)[index]);
    case data_type::fp16: return static_cast<T>(static_cast<float>(static_cast<const half*>(data)[index]));
    case data_type::bf16: return static_cast<T>(static_cast<float>(static_cast<const bfloat*>(data)[index]));
    case data_type::fp32: return static_cast<T>(static_cast<const float*>(data)[index]);
    case data_type::fp64: return static_cast<T>(static_cast<const double*>(data)[index]);
    default: return T{};
  }
}

/// Integer to integer keeps the lowest bits. Floating point to integer saturates, and a NaN becomes 0 (as in
/// gpu/onnx/operators/cast.cpp).
template <class To, class From>
TROUPE_BOTH To convert_number(From x) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    if (x != x) return 0;
    if (x <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (x >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  }
  return static_cast<To>(x);
}

template <class T>
TROUPE_BOTH void store_number(void* data, data_type type, int64_t index, T x) {
  switch (type) {
    case data_type::boolean: static_cast<uint8_t*>(data)[index] = x != T{}; break;
    case data_type::uint8: static_cast<uint8_t*>(data)[index] = convert_number<uint8_t>(x); break;
    case data_type::uint16: static_cast<uint16_t*>(data)[index] = convert_number<uint16_t>(x); break;
    case data_type::uint32: static_cast<uint32_t*>(data)[index] = convert_number<uint32_t>(x); break;
    case data_type::uint64: static_cast<uint64_t*>(data)[index] = convert_number<uint64_t>(x); break;
    case data_type::int8: static_cast<int8_t*>(data)[index] = convert_number<int8_t>(x); break;
    case data_type::int16: static_cast<int16_t*>(data)[index] = convert_number<int16_t>(x); break;
    case data_type::int32: static_cast<int32_t*>(data)[index] = convert_number<int32_t>(x); break;
    case data_type::int64: static_cast<int64_t*>(data)[index] = convert_number<int64_t>(x); break;
    case data_type::fp16: static_cast<half*>(data)[index] = half(static_cast<float>(x)); break;
    case data_type::bf16: static_cast<bfloat*>(data)[index] = bfloat(static_cast<float>(x)); break;
    case data_type::fp32: static_cast<float*>(data)[index] = static_cast<float>(x); break;
    case data_type::fp64: static_cast<double*>(data)[index] = static_cast<double>(x); break;
    default: break;
  }
}

}  // namespace troupe::cuda
