#include "tools/lab/step_probe.hpp"

#include <doctest/doctest.h>

#include "gpu/common/request_refused.hpp"
#include "gpu/llm/emulated_engine_device.hpp"

using namespace troupe;

namespace {

struct stepped_clock final : clock {
  time_point at{1s};
  time_point now() const override { return at; }
};

llm::emulated_engine_options options() {
  llm::emulated_engine_options o;
  o.profile.step = {.fixed = 3ms,
                    .prefill_token = 20us,
                    .prefill_context = 5ns,
                    .decode = 100us,
                    .decode_context = 400ns,
                    .longest_context = 900ns,
                    .adapter_row = 10us,
                    .adapter = 70us};
  o.profile.kv_token_bytes = 1;
  o.profile.adapter_load = 2ms;
  o.vocabulary = 100;
  o.max_positions = 512;
  o.kv_bytes = 16 * 600;
  o.adapter_slots = 16;
  return o;
}

probe_limits limits() {
  return {.max_batch = 16,
          .max_context = 512,
          .prefill_chunk = 128,
          .adapters = 16,
          .kv_tokens = 16 * 600,
          .block_tokens = 16};
}

}  // namespace

TEST_CASE("step probe: the profile of an emulated device is recovered") {
  stepped_clock time;
  const auto o = options();
  llm::emulated_engine_device device(time, o);
  step_probe probe(device, time, [&](time_point at) { time.at = at; });
  CHECK(probe.load().blocks == 600);
  probe.fill_cache();
  CHECK(probe.load_adapters(16, "/a") == 2ms);
  const auto samples = probe.measure(steps_to_probe(limits()), 0s);
  const auto fit = fit_steps(samples);
  const auto same = [](auto a, auto b) { CHECK(a.count() == doctest::Approx(b.count()).epsilon(0.01)); };
  const auto& t = o.profile.step;
  same(fit.latency.fixed, t.fixed);
  same(fit.latency.prefill_token, t.prefill_token);
  same(fit.latency.prefill_context, t.prefill_context);
  same(fit.latency.decode, t.decode);
  same(fit.latency.decode_context, t.decode_context);
  same(fit.latency.longest_context, t.longest_context);
  same(fit.latency.adapter_row, t.adapter_row);
  same(fit.latency.adapter, t.adapter);
  CHECK(fit.held_out.largest < 0.001);
}

TEST_CASE("step probe: steps stay within the device's limits") {
  for (const uint32_t batch : {1u, 3u, 32u})
    for (const uint32_t context : {2u, 17u, 300u})
      for (const uint32_t chunk : {1u, 100u, 4096u}) {
        CAPTURE(batch);
        CAPTURE(context);
        CAPTURE(chunk);
        const probe_limits l{batch, context, chunk, 2, 640, 16};
        const auto steps = steps_to_probe(l);
        CHECK(steps.size() >= 2);
        for (const auto& s : steps) {
          const auto made = step_of(s, 16);
          REQUIRE(made.blocks.size() * 16 <= 640);
          REQUIRE(made.sampled.size() == s.sequences.size());
          REQUIRE(made.segment_end.back() == made.rows());
          for (const auto p : made.positions) REQUIRE(p < context);
          for (const auto a : made.segment_adapters) REQUIRE(a.value <= 2);
          const auto shape = llm::shape_of(made);
          REQUIRE(shape.prefill_tokens <= chunk);
          REQUIRE(shape.decodes <= batch);
        }
      }
}

TEST_CASE("step probe: a model that cannot be loaded is refused with the reason") {
  stepped_clock time;
  auto o = options();
  o.problem = "x.safetensors: is cut off";
  llm::emulated_engine_device device(time, o);
  step_probe probe(device, time, [&](time_point at) { time.at = at; });
  CHECK_THROWS_WITH_AS(probe.load(), "x.safetensors: is cut off", request_refused);
}
