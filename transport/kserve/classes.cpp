#include "transport/kserve/classes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

#include "transport/kserve/values.hpp"

namespace troupe::kserve {

namespace {

/// Of one row.
template <class T>
void append_largest(std::string& out, const std::vector<T>& row, uint32_t classes) {
  const auto is_nan = [](T x) { return std::is_floating_point_v<T> && x != x; };
  const auto before = [&](uint32_t a, uint32_t b) {
    const bool a_none = is_nan(row[a]), b_none = is_nan(row[b]);
    if (a_none || b_none) return a_none == b_none ? a < b : b_none;
    return row[a] != row[b] ? row[a] > row[b] : a < b;
  };
  std::vector<uint32_t> order(row.size());
  std::iota(order.begin(), order.end(), 0U);
  std::partial_sort(order.begin(), order.begin() + classes, order.end(), before);
  for (uint32_t i = 0; i < classes; ++i) {
    const T value = row[order[i]];
    if constexpr (std::is_floating_point_v<T>)
      append_bytes_element(out, fmt::format("{:f}:{}", value, order[i]));
    else
      append_bytes_element(out, fmt::format("{}:{}", value, order[i]));
  }
}

}  // namespace

std::string largest_values(std::span<const std::byte> values, const tensor_spec& t, uint32_t rows,
                           uint32_t classes) {
  std::string out;
  with_type(t.type, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, bool>) {
      std::vector<T> row(static_cast<size_t>(elements(t)));
      for (uint32_t r = 0; r < rows; ++r) {
        std::memcpy(row.data(), values.data() + r * row.size() * sizeof(T), row.size() * sizeof(T));
        append_largest(out, row, classes);
      }
    }
  });
  return out;
}

}  // namespace troupe::kserve
