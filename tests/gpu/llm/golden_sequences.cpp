#include "tests/gpu/llm/golden_sequences.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/fixtures_folder.hpp"
#include "tests/gpu/common/wrong_elements.hpp"

namespace troupe::llm {
namespace {

const std::filesystem::path tasks = fixtures_folder() / "llama-tasks";

}  // namespace

std::filesystem::path golden_folder() { return tasks / "base"; }

std::vector<golden_sequence> golden_sequences(const engine_facts& facts, size_t stride) {
  std::ifstream in(tasks / "golden.json");
  const auto all = nlohmann::json::parse(in);
  REQUIRE(all.size() == 30);
  std::vector<golden_sequence> out;
  for (size_t i = 0; i < all.size(); i += stride) {
    const auto& g = all[i];
    golden_sequence sequence{
        .asked = {.prompt = g["prompt_ids"], .max_tokens = 40, .stop = facts.end_of_text},
        .output = g["output_ids"]};
    if (!g["adapter"].is_null())
      sequence.asked.adapter = (tasks / "adapters" / g["adapter"].get<std::string>()).string();
    out.push_back(std::move(sequence));
  }
  return out;
}

void check_golden_sequences(computing_options options, scheduler_limits limits, size_t stride) {
  small_engine engine(std::move(options), limits);
  const auto all = golden_sequences(engine.facts(), stride);
  for (const auto& sequence : all) engine.add(sequence.asked);
  engine.run();
  for (size_t i = 0; i < all.size(); ++i) {
    CAPTURE(i);
    CHECK(differences(engine.tokens(i), all[i].output) == 0);
  }
  CHECK(engine.failed().empty());
  CHECK((engine.steps_ahead() > 0) == (engine.facts().steps_ahead > 0));
}

}  // namespace troupe::llm
