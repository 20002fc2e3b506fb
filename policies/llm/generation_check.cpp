#include "policies/llm/generation_check.hpp"

#include <algorithm>
#include <functional>

namespace troupe::llm {

std::optional<std::string> problem_with(const generation& g, const model_limits& limits) {
  if (g.prompt.empty() || g.max_tokens == 0 || g.choices == 0)
    return "a sequence needs a prompt, a choice and a token to generate";
  if (g.prompt.size() - 1 + g.max_tokens > limits.max_positions)
    return std::to_string(g.prompt.size()) + " tokens of prompt and " + std::to_string(g.max_tokens) +
           " to generate are more than the model's " + std::to_string(limits.max_positions) + " positions";
  const auto known = [&](token t) { return t >= 0 && static_cast<uint32_t>(t) < limits.vocabulary; };
  const auto goes_on = [&](const sequence_progress& p) {
    return p.choice < g.choices && p.tokens.size() < g.max_tokens && std::ranges::all_of(p.tokens, known);
  };
  const bool each_once = std::ranges::adjacent_find(g.progress, std::greater_equal{},
                                                    &sequence_progress::choice) == g.progress.end();
  if (!each_once || !std::ranges::all_of(g.progress, goes_on))
    return "what another engine began is not of this request";
  if (!std::ranges::all_of(g.prompt, known) ||
      !std::ranges::all_of(g.sampling.biases, known, &token_bias::which))
    return "a token is not of the model's vocabulary";
  if (!g.adapter.empty() && limits.adapter_slots == 0) return "the engine has no room for adapters";
  return {};
}

}  // namespace troupe::llm
