#include "gpu/tokenizer/merge_table.hpp"

#include <algorithm>
#include <bit>

namespace troupe::llm {

merge_table::merge_table(size_t pairs)
    : slots_(std::bit_ceil(std::max<size_t>(2 * pairs, 2))), shift_(64 - std::countr_zero(slots_.size())) {}

void merge_table::add(token left, token right, merge m) {
  auto& s = slots_[place_of(key(left, right))];
  if (s.of.result < 0) s = {key(left, right), m};
}

}  // namespace troupe::llm
