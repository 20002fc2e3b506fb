#include "gpu/kernels/sampling.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "gpu/kernels/philox.hpp"
#include "tests/gpu/kernels/cpu/kernel_cases.hpp"
#include "tests/gpu/kernels/cpu/sampling_case.hpp"

using namespace troupe::kernels;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

sampling_args args_of(const std::vector<float>& logits, const sampling_parameters& parameters) {
  sampling_args a;
  a.logits = logits.data(), a.vocabulary = static_cast<uint32_t>(logits.size()), a.parameters = parameters;
  return a;
}

/// Number of times each token is sampled at positions 0 .. draws.
std::vector<int> drawn(sampling_args a, int draws) {
  std::vector<int> count(a.vocabulary);
  for (int i = 0; i < draws; ++i) {
    a.position = static_cast<uint64_t>(i);
    ++count[sampling(a).token];
  }
  return count;
}

/// Pearson's statistic of the counts against weights.
double chi_square(const std::vector<int>& count, std::vector<double> weight, int draws) {
  double total = 0, statistic = 0;
  for (const double w : weight) total += w;
  for (size_t i = 0; i < count.size(); ++i) {
    const double expected = weight[i] / total * draws;
    if (expected > 0) statistic += (count[i] - expected) * (count[i] - expected) / expected;
  }
  return statistic;
}

}  // namespace

TEST_CASE("philox gives the published numbers") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) ==
        std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}) ==
        std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("sampling equals the reference for random parameters, penalties and biases") {
  with_each_isa([] {
    std::mt19937 random(1);
    int different = 0, far = 0;
    for (int i = 0; i < 600; ++i) {
      const uint32_t vocabulary = i % 7 == 0 ? 1 + below(4, random) : 50 + below(4000, random);
      sampling_case c(vocabulary, i % 3 ? 8.0F : 0.5F, random);
      sampling_args a = c.args();
      std::vector<token_logprob> expected_top(c.top.size());
      a.top = expected_top.data();
      const token_logprob expected = sampling_reference(a);
      const token_logprob result = sampling(c.args());
      different += result.token != expected.token;
      far += !(std::abs(result.logprob - expected.logprob) <= 1e-5F);
      for (size_t j = 0; j < c.top.size() && expected.token != no_token; ++j) {
        different += c.top[j].token != expected_top[j].token;
        far += !(std::abs(c.top[j].logprob - expected_top[j].logprob) <= 1e-5F);
      }
    }
    CHECK(different == 0);
    CHECK(far == 0);
  });
}

TEST_CASE("greedy takes the lowest id of equal logits") {
  with_each_isa([] {
    std::vector<float> logits(1000, 0.5F);
    logits[3] = -infinity, logits[777] = logits[601] = logits[998] = 2;
    sampling_parameters p;
    p.temperature = 0;
    CHECK(sampling(args_of(logits, p)).token == 601);
    p.temperature = 1, p.top_k = 1;
    CHECK(sampling(args_of(logits, p)).token == 601);
    std::fill(logits.begin(), logits.end(), -3.0F);
    CHECK(sampling(args_of(logits, p)).token == 0);
  });
}

TEST_CASE("drawn tokens follow the softmax of the logits over the temperature") {
  std::vector<float> logits = {0, 1, -1, 2, 0.5F, -infinity, 1.5F, -2, 0, 3};
  logits.resize(2600, -infinity);
  logits[2500] = 2.5F;
  for (const float temperature : {0.7F, 1.0F, 2.0F}) {
    sampling_parameters p;
    p.temperature = temperature, p.seed = 11;
    std::vector<double> weight;
    for (const float x : logits) weight.push_back(std::exp(x / temperature));
    const std::vector<int> count = drawn(args_of(logits, p), 20000);
    CHECK(chi_square(count, weight, 20000) < 27.9);  // 9 degrees of freedom: 0.1 %
    CHECK(count[5] == 0);
    CHECK(chi_square(count, std::vector<double>(weight.size(), 1.0), 20000) > 100);  // the test has power
  }
}

TEST_CASE("top_k, top_p and min_p keep their tokens, in the right proportions") {
  const std::vector<float> logits = {std::log(0.1F), std::log(0.4F), std::log(0.05F), std::log(0.3F),
                                     std::log(0.15F)};
  const auto kept_by = [&](uint32_t top_k, float top_p, float min_p) {
    sampling_parameters p;
    p.top_k = top_k, p.top_p = top_p, p.min_p = min_p, p.seed = 5;
    const std::vector<int> count = drawn(args_of(logits, p), 4000);
    std::set<uint32_t> kept;
    std::vector<double> weight(5);
    for (uint32_t i = 0; i < 5; ++i) {
      if (count[i] > 0) kept.insert(i), weight[i] = std::exp(logits[i]);
    }
    CHECK(chi_square(count, weight, 4000) < 18.5);  // 4 degrees of freedom: 0.1 %
    return kept;
  };
  CHECK(kept_by(0, 1, 0) == std::set<uint32_t>{0, 1, 2, 3, 4});
  CHECK(kept_by(2, 1, 0) == std::set<uint32_t>{1, 3});
  CHECK(kept_by(0, 0.6F, 0) == std::set<uint32_t>{1, 3});
  CHECK(kept_by(0, 0.75F, 0) == std::set<uint32_t>{1, 3, 4});
  CHECK(kept_by(0, 0.001F, 0) == std::set<uint32_t>{1});
  CHECK(kept_by(0, 1, 0.3F) == std::set<uint32_t>{1, 3, 4});
  CHECK(kept_by(3, 0.9F, 0.3F) == std::set<uint32_t>{1, 3, 4});
  CHECK(kept_by(2, 0.5F, 0) == std::set<uint32_t>{1});  // 0.4 of 0.7 is more than half
}

TEST_CASE("a draw depends on the seed and on the position, and on nothing else") {
  std::mt19937 random(3);
  const std::vector<float> logits = random_logits(5000, random, 1), other = random_logits(900, random, 1);
  sampling_parameters p;
  p.seed = 77;
  sampling_args a = args_of(logits, p);
  std::vector<uint32_t> first;
  for (a.position = 0; a.position < 50; ++a.position) first.push_back(sampling(a).token);
  int same_elsewhere = 0;
  for (a.position = 50; a.position-- > 0;) {
    sampling(args_of(other, p));
    CHECK(sampling(a).token == first[a.position]);
    sampling_args b = a;
    b.parameters.seed = 78;
    same_elsewhere += sampling(b).token == first[a.position];
  }
  CHECK(same_elsewhere < 5);
  CHECK(std::set<uint32_t>(first.begin(), first.end()).size() > 45);
}

TEST_CASE("penalties and biases change the choice, log-probabilities stay those of the model") {
  const std::vector<float> logits = {2, 1.5F, -1};
  sampling_parameters p;
  p.temperature = 0, p.repetition_penalty = 2;
  const token_count seen[] = {{0, 1, 0}};
  sampling_args a = args_of(logits, p);
  const double all = std::log(std::exp(2.0) + std::exp(1.5) + std::exp(-1.0));
  CHECK(sampling(a).logprob == doctest::Approx(2 - all));
  a.counts = seen, a.count_entries = 1;
  CHECK(sampling(a).token == 1);
  CHECK(sampling(a).logprob == doctest::Approx(1.5 - all));
  const token_bias bias[] = {{2, 5.0F}};
  a.biases = bias, a.bias_entries = 1;
  CHECK(sampling(a).token == 2);
  CHECK(sampling(a).logprob == doctest::Approx(-1 - all));
}

TEST_CASE("logits without a valid distribution give no token") {
  with_each_isa([] {
    for (const size_t n : {1UL, 5UL, 100UL, 3000UL}) {
      for (const float temperature : {0.0F, 1.0F}) {
        sampling_parameters p;
        p.temperature = temperature;
        std::vector<float> logits(n, 1.0F);
        for (const size_t at : {size_t{0}, n / 2, n - 1}) {
          for (const float x : {not_a_number, infinity}) {
            logits[at] = x;
            CHECK(sampling(args_of(logits, p)).token == no_token);
            CHECK(sampling_reference(args_of(logits, p)).token == no_token);
            logits[at] = 1;
          }
        }
        std::fill(logits.begin(), logits.end(), -infinity);
        CHECK(sampling(args_of(logits, p)).token == no_token);
      }
    }
    const std::vector<float> two = {1, 2};
    const token_bias never[] = {{0, -infinity}, {1, -infinity}};
    sampling_args a = args_of(two, {});
    a.biases = never, a.bias_entries = 2;
    CHECK(sampling(a).token == no_token);
    CHECK(sampling({}).token == no_token);
  });
}
