// The answer to `list_requests` (messages/tensor/commands.hpp), the same for gateways and model queues.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "messages/tensor/commands.hpp"

namespace troupe {

/// `all`: every request that the actor holds, in any order. The answer counts them and lists those with the
/// lowest ids, ascending: at most as many as the command asks for, and at most `longest_list`.
inline open_requests answer_to(const list_requests& asked, std::vector<open_request> all) {
  const auto total = all.size();
  const auto n = std::min<size_t>({asked.limit, longest_list, total});
  const auto by_id = [](const open_request& a, const open_request& b) { return a.id < b.id; };
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n), all.end(), by_id);
  all.resize(n);
  return {total, std::move(all)};
}

}  // namespace troupe
