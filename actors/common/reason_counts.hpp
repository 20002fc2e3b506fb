// The counts of a ledger by reason, as commands report them.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "messages/common/ledger.hpp"

namespace troupe {

/// Names and counts, without zeros. `Reason`: drop_reason or failure.
template <class Reason, size_t n>
std::vector<reason_count> reason_counts(const std::array<uint64_t, n>& counts) {
  std::vector<reason_count> out;
  for (size_t k = 1; k < n; ++k)
    if (counts[k] > 0) out.push_back({std::string(to_string(static_cast<Reason>(k))), counts[k]});
  return out;
}

}  // namespace troupe
