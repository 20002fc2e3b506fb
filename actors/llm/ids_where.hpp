// Which entries of a table of requests are meant, in an order that a hash table does not decide.
#pragma once
#include <algorithm>
#include <vector>

#include "messages/common/ids.hpp"

namespace troupe {

/// The ids, ascending, of those for which `wanted(entry)` holds.
template <class Table, class If>
std::vector<request_id> ids_where(const Table& table, If&& wanted) {
  std::vector<request_id> out;
  for (const auto& [id, entry] : table)
    if (wanted(entry)) out.push_back(id);
  std::ranges::sort(out);
  return out;
}

}  // namespace troupe
