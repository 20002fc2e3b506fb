#include "tools/lab/latency_setup.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::lab {

void read_latency(section& root, std::optional<latency_setup>& out) {
  if (!root.has("latency")) return root.unused("latency");
  auto* s = root.table("latency");
  if (s == nullptr) return;
  auto l = out.value_or(latency_setup{});
  const auto whole = [&](std::string_view key, int64_t max, uint32_t& value) {
    value = static_cast<uint32_t>(s->integer(key, 1, max, value));
  };
  l.popularity = static_cast<adapter_popularity>(
      s->choice("popularity", adapter_popularity_names, static_cast<size_t>(l.popularity)));
  if (l.popularity == adapter_popularity::zipf)
    s->refuse("popularity", "a batch cannot follow Zipf's law; give \"skewed\"");
  whole("batch", 256, l.batch);
  whole("rank", 256, l.rank);
  whole("width", 1 << 14, l.width);
  whole("context", 1 << 14, l.context);
  out = l;
}

std::vector<uint32_t> rows_by_adapter(adapter_popularity p, uint32_t rows) {
  constexpr double alpha = 1.5;
  std::vector<uint32_t> out;
  switch (p) {
    case adapter_popularity::identical: return {rows};
    case adapter_popularity::distinct: return std::vector<uint32_t>(rows, 1);
    case adapter_popularity::uniform: {
      const auto n = static_cast<uint32_t>(std::ceil(std::sqrt(rows)));
      for (uint32_t i = 0; i < n; ++i) out.push_back((i + 1) * rows / n - i * rows / n);
      return out;
    }
    default: break;
  }
  double share = rows * (1 - 1 / alpha);
  for (auto left = rows; left > 0; share /= alpha) {
    out.push_back(std::clamp(static_cast<uint32_t>(std::lround(share)), 1u, left));
    left -= out.back();
  }
  return out;
}

}  // namespace troupe::lab
