#include "policies/llm/step_meter.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::llm;

TEST_CASE("a step meter finds what a step, a sequence and a token of a prompt cost") {
  step_meter m;
  CHECK(m.forecast() == step_forecast{});
  CHECK(m.prompt_tokens() == 0);
  for (uint32_t i = 0; i < 500; ++i) {
    const uint32_t decodes = i % 17, prompt = i % 5 == 0 ? 40 + i % 90 : 0;
    m.add(decodes, prompt, 10ms + decodes * 50us + prompt * 60us);
  }
  const auto f = m.forecast();
  CHECK(to_ms(f.fixed) == doctest::Approx(10).epsilon(0.001));
  CHECK(to_ms(f.decode) == doctest::Approx(0.05).epsilon(0.01));
  CHECK(to_ms(f.prefill) == doctest::Approx(0.06).epsilon(0.01));
  CHECK(m.prompt_tokens() == doctest::Approx((40 + 44.5) / 5).epsilon(0.1));
}

TEST_CASE("a step meter follows a device that became slower, and ignores steps without a duration") {
  step_meter m;
  for (int i = 0; i < 1000; ++i) m.add(4, 0, 10ms);
  m.add(4, 0, duration{});
  m.add(4, 0, -1ms);
  CHECK(m.forecast() == step_forecast{10ms, {}, {}});
  for (int i = 0; i < 3000; ++i) m.add(4, 0, 20ms);
  CHECK(to_ms(m.forecast().fixed) == doctest::Approx(20).epsilon(0.01));
}
