#include "messages/tensor/tensor.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace troupe {
namespace {

struct type_row {
  std::string_view name;
  size_t size;
};
constexpr std::array<type_row, data_type_count> rows{{{"BOOL", 1},
                                                      {"UINT8", 1},
                                                      {"UINT16", 2},
                                                      {"UINT32", 4},
                                                      {"UINT64", 8},
                                                      {"INT8", 1},
                                                      {"INT16", 2},
                                                      {"INT32", 4},
                                                      {"INT64", 8},
                                                      {"FP16", 2},
                                                      {"BF16", 2},
                                                      {"FP32", 4},
                                                      {"FP64", 8},
                                                      {"BYTES", 0}}};

}  // namespace

std::string_view to_string(data_type t) { return rows[static_cast<size_t>(t)].name; }

bool parse_data_type(std::string_view v2_name, data_type& out) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].name != v2_name) continue;
    out = static_cast<data_type>(i);
    return true;
  }
  return false;
}

size_t size_of(data_type t) { return rows[static_cast<size_t>(t)].size; }

bool has_free_dimension(const tensor_spec& t) {
  return std::ranges::any_of(t.shape, [](int64_t d) { return d < 0; });
}

bool has_free_dimension(const model_signature& s) {
  const auto is_free = [](const tensor_spec& t) { return has_free_dimension(t); };
  return std::ranges::any_of(s.inputs, is_free) || std::ranges::any_of(s.outputs, is_free);
}

int64_t elements(const tensor_spec& t) {
  if (has_free_dimension(t)) return 0;
  int64_t n = 1;
  for (auto d : t.shape)
    if (__builtin_mul_overflow(n, d, &n)) return std::numeric_limits<int64_t>::max();
  return n;
}

uint64_t row_bytes(const tensor_spec& t) {
  uint64_t n = 0;
  const bool lost = __builtin_mul_overflow(static_cast<uint64_t>(elements(t)), size_of(t.type), &n);
  return lost ? std::numeric_limits<uint64_t>::max() : n;
}

uint64_t input_row_bytes(const model_signature& s) {
  uint64_t n = 0;
  for (const auto& t : s.inputs) n += row_bytes(t);
  return n;
}

uint64_t output_row_bytes(const model_signature& s) {
  uint64_t n = 0;
  for (const auto& t : s.outputs) n += row_bytes(t);
  return n;
}

}  // namespace troupe
