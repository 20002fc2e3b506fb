#include "gpu/tokenizer/pipeline_steps.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/gpu/tokenizer/models.hpp"

using namespace troupe::llm;
using json = nlohmann::json;

namespace {

const std::string steps_file = "t.json";

std::string types_of(const json& document) {
  std::string all;
  for (const auto& step : pipeline_steps(json_place(steps_file, document), "steps")) all += step.type() + " ";
  return all;
}

json sequence_of(json steps) { return {{"type", "Sequence"}, {"steps", std::move(steps)}}; }
json step_of(const char* type) { return {{"type", type}}; }

}  // namespace

TEST_CASE("pipeline_steps: a sequence has the steps of its members, in order") {
  CHECK(types_of(step_of("A")) == "A ");
  CHECK(types_of(sequence_of(json::array())).empty());
  CHECK(types_of(sequence_of({step_of("A"), sequence_of({step_of("B"), step_of("C")}), step_of("D")})) ==
        "A B C D ");
}

TEST_CASE("pipeline_steps: too many steps are refused with the place") {
  CHECK_NOTHROW(types_of(sequence_of(std::vector<json>(32, step_of("A")))));
  CHECK(refusal([] { types_of(sequence_of(std::vector<json>(33, step_of("A")))); }) ==
        "t.json: steps[32] is one step more than the 32 supported");
}

TEST_CASE("pipeline_steps: a step that is not supported is named") {
  const auto document = step_of("B");
  CHECK(refusal([&] { refuse_step(json_place(steps_file, document), "A"); }) ==
        "t.json: type is 'B', which is not supported; supported: A");
}
