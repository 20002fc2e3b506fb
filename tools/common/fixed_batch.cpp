#include "tools/common/fixed_batch.hpp"

#include <cassert>
#include <utility>

namespace troupe {

fixed_batch::fixed_batch(std::unique_ptr<batch_model> model, uint32_t rows)
    : model_(std::move(model)), rows_(rows) {
  const auto& inner = model_->signature();
  assert(inner.batched && rows > 0);
  for (const auto& t : inner.inputs) signature_.inputs.push_back(inner.whole(t, rows));
  for (const auto& t : inner.outputs) signature_.outputs.push_back(inner.whole(t, rows));
  signature_.batched = false;
}

bool fixed_batch::run(uint32_t rows, std::span<const batch_part> parts, const std::atomic<bool>* stop) {
  assert(rows == 1 && parts.size() == 1);
  (void)rows;
  const batch_part whole{.rows = rows_, .input = parts.front().input, .output = parts.front().output};
  return model_->run(rows_, {&whole, 1}, stop);
}

}  // namespace troupe
