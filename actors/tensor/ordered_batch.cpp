#include "actors/tensor/ordered_batch.hpp"

#include <algorithm>

namespace troupe {

uint32_t ordered_batch::rows() const {
  uint32_t sum = 0;
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i].error == failure::none) sum += order.requests[i].rows;
  return sum;
}

batch_work ordered_batch::work() const {
  batch_work out;
  out.model = order.model;
  out.parts.reserve(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& p = parts[i];
    if (p.error != failure::none) continue;
    const auto part_rows = order.requests[i].rows;
    out.rows += part_rows;
    out.parts.push_back({part_rows, p.input, p.output.payload, p.shaped_output.get()});
  }
  return out;
}

bool ordered_batch::has_input() const {
  return std::any_of(parts.begin(), parts.end(), [](const part& p) { return p.error == failure::none; });
}

}  // namespace troupe
