#include "tools/lab/step_fit.hpp"

#include <doctest/doctest.h>

#include "policies/common/random.hpp"

using namespace troupe;

namespace {

/// Like Punica's A100 (examples/profiles/punica-7b-a100.toml), with terms for adapters.
constexpr llm::step_latency truth{.fixed = 10568us,
                                  .prefill_token = 60us,
                                  .prefill_context = llm::step_latency::part(2.6),
                                  .decode = llm::step_latency::part(32'300),
                                  .decode_context = 252ns,
                                  .longest_context = 2873ns,
                                  .adapter_row = 5us,
                                  .adapter = 40us};

std::vector<step_sample> some_samples(double noise) {
  random_stream random(1, "steps");
  std::vector<step_sample> out;
  for (size_t i = 0; i < 200; ++i) {
    step_sample s;
    s.held_out = i % 4 == 2;
    s.shape.prefill_tokens = random.below(512);
    s.shape.prefill_context = s.shape.prefill_tokens * (s.shape.prefill_tokens + random.below(2000)) / 2;
    s.shape.decodes = random.below(33);
    for (uint64_t d = 0; d < s.shape.decodes; ++d) {
      const auto context = 1 + random.below(2048);
      s.shape.decode_context += context;
      s.shape.longest_context = std::max(s.shape.longest_context, context);
    }
    s.shape.adapters = random.below(s.shape.decodes + 1);
    s.shape.adapter_rows = s.shape.adapters == 0 ? 0 : s.shape.decodes;
    const auto exact = static_cast<double>(truth(s.shape).count());
    s.took = duration(static_cast<int64_t>(exact * (1 + noise * (2 * random.uniform() - 1))));
    out.push_back(s);
  }
  return out;
}

}  // namespace

TEST_CASE("step fit: the terms behind exact times are found without error") {
  const auto fit = fit_steps(some_samples(0));
  const auto same = [](auto a, auto b) { CHECK(a.count() == doctest::Approx(b.count()).epsilon(0.001)); };
  same(fit.latency.fixed, truth.fixed);
  same(fit.latency.prefill_token, truth.prefill_token);
  same(fit.latency.prefill_context, truth.prefill_context);
  same(fit.latency.decode, truth.decode);
  same(fit.latency.decode_context, truth.decode_context);
  same(fit.latency.longest_context, truth.longest_context);
  same(fit.latency.adapter_row, truth.adapter_row);
  same(fit.latency.adapter, truth.adapter);
  CHECK(fit.fitted.largest < 1e-4);
  CHECK(fit.held_out.largest < 1e-4);
}

TEST_CASE("step fit: times with 10 % noise are predicted within it, held-out ones too") {
  const auto fit = fit_steps(some_samples(0.1));
  CHECK(fit.fitted.mean > 0.02);
  CHECK(fit.fitted.mean < 0.08);
  CHECK(fit.held_out.mean < 0.09);
  CHECK(fit.held_out.largest < 0.2);
  CHECK(fit.held_out.mean != fit.fitted.mean);
}

TEST_CASE("step fit: absent parts have no term, and no term is negative") {
  std::vector<step_sample> samples;
  for (uint64_t n = 1; n <= 8; ++n) {
    llm::step_shape s;
    s.decodes = n;
    samples.push_back({s, 10ms - n * 100us});  // more sequences, less time
  }
  const auto fit = fit_steps(samples);
  CHECK(fit.latency.decode.count() == 0);
  CHECK(fit.latency.adapter.count() == 0);
  CHECK(fit.latency.fixed > 9ms);
  CHECK(fit.held_out.largest == 0);
}
