// Values of one tensor, in JSON and in memory. `t` is the tensor of a request, with its whole shape. Private
// to transport/kserve; errors are thrown as http_error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "messages/tensor/tensor.hpp"

namespace troupe::kserve {

/// Calls `f(T{})` with the C++ type of the values; not for FP16, BF16 and BYTES, which have none.
template <class F>
void with_type(data_type t, F f) {
  switch (t) {
    case data_type::boolean: return f(bool{});
    case data_type::uint8: return f(uint8_t{});
    case data_type::uint16: return f(uint16_t{});
    case data_type::uint32: return f(uint32_t{});
    case data_type::uint64: return f(uint64_t{});
    case data_type::int8: return f(int8_t{});
    case data_type::int16: return f(int16_t{});
    case data_type::int32: return f(int32_t{});
    case data_type::int64: return f(int64_t{});
    case data_type::fp32: return f(float{});
    case data_type::fp64: return f(double{});
    case data_type::fp16:
    case data_type::bf16:
    case data_type::bytes: break;
  }
}

/// Size in memory, from the JSON array `text`. The text is read only for BYTES.
uint64_t bytes_of_json(std::string_view text, const tensor_spec& t);
/// Converts the JSON array to `out`, which has room for `bytes_of_json` bytes.
void write_json(std::string_view text, const tensor_spec& t, std::byte* out);

/// Calls `string(value)` for each element of the JSON array `text` of a BYTES tensor.
void each_json_string(std::string_view text, const tensor_spec& t,
                      const std::function<void(const std::string&)>& string);

/// Refuses `values` unless they are those of input `t` in memory order.
void check_binary(std::string_view values, const tensor_spec& t);

/// The part of `t` at the beginning of `values`; shorter if they are cut short.
std::span<const std::byte> first_of(std::span<const std::byte> values, const tensor_spec& t);

/// Appends the values as the elements of a JSON array, without its brackets.
void append_json(std::string& out, const tensor_spec& t, std::span<const std::byte> values);

/// Calls `element(text)` for each BYTES element of `values`; false if they are cut short.
template <class Element>
bool each_bytes_element(std::span<const std::byte> values, Element element) {
  while (!values.empty()) {
    if (values.size() < 4) return false;
    uint32_t size = 0;
    for (size_t i = 0; i < 4; ++i) size |= static_cast<uint32_t>(values[i]) << (8 * i);
    if (size > values.size() - 4) return false;
    element(std::string_view(reinterpret_cast<const char*>(values.data()) + 4, size));
    values = values.subspan(4 + size);
  }
  return true;
}

/// Appends one BYTES element.
inline void append_bytes_element(std::string& out, std::string_view element) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>(element.size() >> (8 * i));
  out += element;
}

}  // namespace troupe::kserve
