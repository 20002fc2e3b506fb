// Ids of selected entries of a hash table, in an order that does not depend on the table.
#pragma once
#include <algorithm>
#include <vector>

#include "messages/common/ids.hpp"

namespace troupe {

/// Ids of the entries for which `wanted(entry)` holds, ascending.
template <class Table, class If>
std::vector<request_id> ids_where(const Table& table, If&& wanted) {
  std::vector<request_id> out;
  for (const auto& [id, entry] : table)
    if (wanted(entry)) out.push_back(id);
  std::ranges::sort(out);
  return out;
}

}  // namespace troupe
