#include "gpu/encoder/encoder_inputs.hpp"

#include <algorithm>
#include <cstddef>

namespace troupe {

std::vector<int64_t> encoder_inputs(std::span<const llm::encoded_text> texts, uint32_t tokens,
                                    uint32_t padding, bool types) {
  const auto cells = static_cast<std::ptrdiff_t>(texts.size() * tokens);
  std::vector<int64_t> out(static_cast<size_t>(cells) * (types ? 3 : 2));
  auto ids = out.begin();
  std::fill_n(ids, cells, padding);
  for (const auto& t : texts) {
    const auto length = static_cast<std::ptrdiff_t>(t.ids.size());
    std::ranges::copy(t.ids, ids);
    std::fill_n(ids + cells, length, 1);
    if (types) std::ranges::copy(t.types, ids + 2 * cells);
    ids += tokens;
  }
  return out;
}

}  // namespace troupe
