// Index of the actors of a group by role and index.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "messages/common/ids.hpp"

namespace troupe {

/// Maps the name of an actor on its node to its position in the group.
class actor_index {
 public:
  static constexpr uint32_t none = ~0u;

  void set(role kind, uint32_t index, uint32_t position) {
    auto& row = rows_[static_cast<size_t>(kind)];
    if (row.size() <= index) row.resize(index + 1, none);
    row[index] = position;
  }
  /// Requires: it was set.
  void erase(role kind, uint32_t index) { rows_[static_cast<size_t>(kind)][index] = none; }
  /// Position of the actor, or `none`.
  uint32_t find(role kind, uint32_t index) const {
    const auto& row = rows_[static_cast<size_t>(kind)];
    return index < row.size() ? row[index] : none;
  }

 private:
  std::vector<std::vector<uint32_t>> rows_{role_count};  ///< role → index → position
};

}  // namespace troupe
