#include "policies/llm/generation_check.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::llm;

namespace {

constexpr model_limits check_limits{1000, 100, 2};

generation good_generation() {
  generation g;
  g.prompt = {5, 999};
  g.max_tokens = 10;
  g.choices = 3;
  return g;
}

bool refused_because(const generation& g, const char* why, const model_limits& l = check_limits) {
  const auto problem = problem_with(g, l);
  return problem && problem->find(why) != std::string::npos;
}

}  // namespace

TEST_CASE("generation check: a request that the model can generate has no problem") {
  auto g = good_generation();
  CHECK_FALSE(problem_with(g, check_limits));
  g.progress = {{0, {}}, {2, {7, 7}}};
  CHECK_FALSE(problem_with(g, check_limits));
  g.adapter = "a";
  CHECK_FALSE(problem_with(g, check_limits));
  CHECK(refused_because(g, "no room for adapters", {1000, 100, 0}));
}

TEST_CASE("generation check: a request needs a prompt, a choice and a token to generate") {
  auto g = good_generation();
  g.prompt.clear();
  CHECK(refused_because(g, "needs a prompt"));
  g = good_generation(), g.max_tokens = 0;
  CHECK(refused_because(g, "needs a prompt"));
  g = good_generation(), g.choices = 0;
  CHECK(refused_because(g, "needs a prompt"));
}

TEST_CASE("generation check: the token chosen last takes no position") {
  auto g = good_generation();
  g.max_tokens = 99;
  CHECK_FALSE(problem_with(g, check_limits));
  g.max_tokens = 100;
  CHECK(refused_because(g, "2 tokens of prompt and 100 to generate are more than the model's 100 positions"));
}

TEST_CASE("generation check: tokens of prompt and biases are of the vocabulary") {
  auto g = good_generation();
  g.prompt = {1000};
  CHECK(refused_because(g, "vocabulary"));
  g.prompt = {-1};
  CHECK(refused_because(g, "vocabulary"));
  g = good_generation();
  g.sampling.biases = {{1000, 1}};
  CHECK(refused_because(g, "vocabulary"));
}

TEST_CASE(
    "generation check: progress names choices of the request, ascending, with tokens left to generate") {
  const std::vector<sequence_progress> wrong[] = {
      {{3, {7}}},                        // no such choice
      {{1, {7}}, {1, {7}}},              // twice
      {{2, {7}}, {1, {7}}},              // out of order
      {{0, std::vector<token>(10, 7)}},  // all generated already
      {{0, {1000}}},                     // not of the vocabulary
  };
  for (const auto& progress : wrong) {
    auto g = good_generation();
    g.progress = progress;
    CHECK(refused_because(g, "what another engine began is not of this request"));
  }
}
