#include "policies/llm/planned_step.hpp"

#include <algorithm>
#include <utility>

#include "policies/llm/scheduled_sequence.hpp"

namespace troupe::llm {
namespace {

void append(planned_step& to, scheduled_sequence& t, uint32_t rows) {
  auto& step = to.step;
  const auto index = static_cast<uint32_t>(step.sequences.size());
  step.sequences.push_back(t.id);
  to.sequences.push_back(&t);
  step.blocks.insert(step.blocks.end(), t.kv.blocks.begin(), t.kv.blocks.end());
  step.block_start.push_back(static_cast<uint32_t>(step.blocks.size()));
  for (size_t p = t.computed; p < t.computed + rows; ++p) {
    step.tokens.push_back(p < t.tokens.size() ? t.tokens[p] : chosen_before(t.entry));
    step.positions.push_back(static_cast<uint32_t>(p));
    step.row_sequence.push_back(index);
  }
  if (step.segment_adapters.empty() || step.segment_adapters.back() != t.adapter) {
    step.segment_adapters.push_back(t.adapter);
    step.segment_end.push_back(0);
  }
  step.segment_end.back() = step.rows();
  ++t.steps;
  t.computed += rows;
  if (t.computed < t.length()) return;
  t.entry = static_cast<uint32_t>(step.sampled.size());
  ++t.awaited;
  step.sampled.push_back(step.rows() - 1);
}

}  // namespace

void planned_step::clear() {
  step.clear();
  sequences.clear();
  step.block_start.push_back(0);
  step.segment_end.push_back(0);
  decodes = 0;
}

void planned_step::add_prompts(std::vector<scheduled_sequence*>& prompts) {
  std::stable_sort(prompts.begin(), prompts.end(),
                   [](const auto* a, const auto* b) { return a->adapter.value < b->adapter.value; });
  for (auto* t : prompts) append(*this, *t, std::exchange(t->in_step, 0));
}

void planned_step::add_decodes(std::vector<scheduled_sequence*>& decoding) {
  const auto last = step.segment_adapters.empty() ? base_model : step.segment_adapters.back();
  std::stable_sort(decoding.begin(), decoding.end(), [&](const auto* a, const auto* b) {
    return std::pair{a->adapter != last, a->adapter.value} < std::pair{b->adapter != last, b->adapter.value};
  });
  for (auto* t : decoding) append(*this, *t, 1);
  decodes = static_cast<uint32_t>(decoding.size());
}

}  // namespace troupe::llm
