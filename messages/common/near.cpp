#include "messages/common/near.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace troupe {
namespace {

/// Wrong, missing, superfluous letters and swaps of neighbours (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, above(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j - 1] + (a[i - 1] != b[j - 1]), above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row.back();
}

/// A forgotten or superfluous ending ("slo" for "slo_ms") is as near as one wrong letter.
size_t distance(std::string_view a, std::string_view b) {
  if (a.size() >= 2 && b.size() >= 2 && (a.starts_with(b) || b.starts_with(a))) return a != b;
  return edit_distance(a, b);
}

}  // namespace

std::string_view nearest(std::string_view written, std::span<const std::string_view> known) {
  constexpr size_t longest = 200;  // bounds the work; no name is longer
  if (written.size() > longest) return {};
  std::string_view best;
  size_t min_distance = longest;
  for (const auto name : known) {
    const size_t d = distance(written, name);
    if (d < min_distance && d * 3 <= std::max(written.size(), name.size())) best = name, min_distance = d;
  }
  return best;
}

std::string hint(std::string_view written, std::span<const std::string_view> known) {
  if (const auto near = nearest(written, known); !near.empty())
    return "; did you mean '" + std::string(near) + "'?";
  if (known.empty()) return {};
  constexpr size_t shown = 24;
  std::string out = "; known: ";
  for (size_t i = 0; i < known.size() && i < shown; ++i) out += (i ? ", " : "") + std::string(known[i]);
  return out + (known.size() > shown ? ", ..." : "");
}

}  // namespace troupe
