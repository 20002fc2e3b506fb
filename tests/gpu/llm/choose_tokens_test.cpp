#include "gpu/llm/choose_tokens.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>

using namespace troupe::llm;

namespace {

const std::vector<float> five_logits{0, 3, 1, 2.5F, -1};

chosen_token choice_of(const token_sampling& w, const std::vector<float>& logits = five_logits) {
  std::vector<chosen_token> out;
  choose_tokens(logits, static_cast<uint32_t>(logits.size()), {&w, 1}, out);
  REQUIRE(out.size() == 1);
  return out[0];
}

float logprob_of(size_t token) {
  double sum = 0;
  for (const float x : five_logits) sum += std::exp(x);
  return static_cast<float>(five_logits[token] - std::log(sum));
}

}  // namespace

TEST_CASE("each sampling uses its own row of logits") {
  const sampling_params greedy{.temperature = 0, .biases = {}};
  std::vector<float> logits(100'000 * 3);
  logits[7] = 1;
  logits[100'000 + 99'999] = 2;
  logits[200'000] = 3;
  const std::vector<token_sampling> samplings(3, token_sampling{.params = &greedy, .counts = {}});
  std::vector<chosen_token> out(9);
  choose_tokens(logits, 100'000, samplings, out);
  REQUIRE(out.size() == 3);
  CHECK(out[0].which == 7);
  CHECK(out[1].which == 99'999);
  CHECK(out[2].which == 0);
  choose_tokens({}, 100'000, {}, out);
  CHECK(out.empty());
}

TEST_CASE("the most likely tokens are reported with their probabilities, at most all of them") {
  const sampling_params greedy{.temperature = 0, .biases = {}};
  const auto c = choice_of({.params = &greedy, .counts = {}, .top = 2});
  CHECK(c.valid);
  CHECK(c.logprob == doctest::Approx(logprob_of(1)));
  REQUIRE(c.top.size() == 2);
  CHECK(c.top[0] == troupe::token_chance{1, c.logprob});
  CHECK(c.top[1].which == 3);
  CHECK(c.top[1].logprob == doctest::Approx(logprob_of(3)));
  CHECK(choice_of({.params = &greedy, .counts = {}, .top = 20}).top.size() == 5);
  CHECK(choice_of({.params = &greedy, .counts = {}}).top.empty());
}

TEST_CASE("biases and penalties change the sampled token, not the reported probabilities") {
  sampling_params params{.temperature = 0, .biases = {{1, -100}, {2, 0.5F}}};
  auto c = choice_of({.params = &params, .counts = {}});
  CHECK(c.which == 3);
  CHECK(c.logprob == doctest::Approx(logprob_of(3)));
  const std::vector<token_frequency> counts{{1, 1, 0}, {3, 0, 2}, {2, 0, 1}};
  const auto with = [&](const sampling_params& s) {
    return choice_of({.params = &s, .counts = counts}).which;
  };
  CHECK(with({.temperature = 0, .biases = {}}) == 1);
  CHECK(with({.temperature = 0, .repetition_penalty = 10, .biases = {}}) == 1);  // 3 is 0.3, and 2.5 0.25
  CHECK(with({.temperature = 0, .repetition_penalty = 10, .biases = {{0, 0.4F}}}) == 0);
  CHECK(with({.temperature = 0, .presence_penalty = 5, .biases = {{1, -2.5F}}}) == 1);
  CHECK(with({.temperature = 0, .frequency_penalty = 1, .biases = {{1, -2.4F}}}) == 1);
  CHECK(with({.temperature = 0, .frequency_penalty = 1, .biases = {{1, -2.8F}}}) == 3);
}

TEST_CASE("a draw depends on seed and position, and stays within top_k, top_p and min_p") {
  const sampling_params params{.temperature = 2, .top_k = 3, .seed = 7, .biases = {}};
  std::set<token> drawn;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const token_sampling w{.params = &params, .seed = seed, .counts = {}, .position = 5};
    drawn.insert(choice_of(w).which);
    CHECK(choice_of(w).which == choice_of(w).which);
  }
  CHECK(drawn == std::set<token>{1, 2, 3});
  drawn.clear();
  for (uint64_t position = 0; position < 100; ++position)
    drawn.insert(choice_of({.params = &params, .seed = 1, .counts = {}, .position = position}).which);
  CHECK(drawn == std::set<token>{1, 2, 3});
  drawn.clear();
  const sampling_params narrow{.temperature = 2, .top_p = 0.3F, .biases = {}};
  const sampling_params likely{.temperature = 1, .min_p = 0.5F, .biases = {}};
  for (uint64_t seed = 0; seed < 100; ++seed) {
    drawn.insert(choice_of({.params = &narrow, .seed = seed, .counts = {}}).which);
    CHECK(choice_of({.params = &likely, .seed = seed, .counts = {}}).which % 2 == 1);  // 1 and 3
  }
  CHECK(drawn == std::set<token>{1});
}

TEST_CASE("a row with NaN gives no token, and the other rows do") {
  const sampling_params greedy{.temperature = 0, .biases = {}};
  std::vector<float> logits{0, std::numeric_limits<float>::quiet_NaN(), 1, 5};
  const std::vector<token_sampling> samplings(2, token_sampling{.params = &greedy, .counts = {}, .top = 1});
  std::vector<chosen_token> out;
  choose_tokens(logits, 2, samplings, out);
  CHECK_FALSE(out[0].valid);
  CHECK(out[0].top.empty());
  CHECK(out[1].valid);
  CHECK(out[1].which == 1);
  CHECK(out[1].top.size() == 1);
}
