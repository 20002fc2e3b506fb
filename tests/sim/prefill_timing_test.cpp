// Prompts that wait while their targets allow it (policies/llm/prefill_timing.hpp): cases where that wins,
// and cases where it does not.
#include "tests/sim/llm_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

/// One engine as Punica's A100.
cluster_spec one_engine(std::string_view prefill) {
  auto c = llm_cluster();
  auto& m = c.llms[0];
  m.prefix_cache = false;  // as in Punica
  m.profile.step = {.fixed = 10568us,
                    .prefill_token = 60us,
                    .prefill_context = std::chrono::duration<double, std::nano>(2.6),
                    .decode = std::chrono::duration<double, std::micro>(32.3),
                    .decode_context = 252ns,
                    .longest_context = 2873ns};
  m.jitter = 0.02;
  m.max_positions = 4096;
  m.block_tokens = 16;
  m.kv_bytes = 80'000;
  m.max_sequences = 32;
  m.prefill_chunk = 512;
  m.emulated_adapters = 0;
  m.timeout = 60s;
  m.consolidate_every = {};
  m.prefill = prefill;
  c.engines.resize(1);
  return c;
}

struct sequences {
  double rate_rps;
  uint32_t prompt, tokens;
};

struct run_result {
  uint64_t offered = 0, finished = 0;
  double busy_ms = 0;  // of the device, for each finished request
  double ttft_p50 = 0, ttft_p99 = 0, tpot_p50 = 0, tpot_p99 = 0, gap_p99 = 0, ms = 0;
};

run_result serve(std::string_view prefill, const sequences& asked) {
  workload_spec w;
  w.length = 60s;
  llm_load t;
  t.rate_rps = asked.rate_rps;
  t.min_prompt = asked.prompt / 2, t.max_prompt = asked.prompt * 3 / 2;
  t.min_tokens = asked.tokens / 2, t.max_tokens = asked.tokens * 3 / 2;
  t.ttft = 500ms;
  w.llms = {t};
  const auto r = run(one_engine(prefill), w, {.seed = 1, .steps_ahead = 0});  // as in Punica
  CHECK(r.violations.empty());
  const auto& b = r.llms[0];
  run_result f{b.offered, b.of(client_outcome::finished)};
  f.busy_ms = to_ms(r.engines[0].device_busy) / static_cast<double>(f.finished);
  f.ttft_p50 = to_ms(b.first_token.quantile(0.5)), f.ttft_p99 = to_ms(b.first_token.quantile(0.99));
  f.tpot_p50 = to_ms(b.tpot.quantile(0.5)), f.tpot_p99 = to_ms(b.tpot.quantile(0.99));
  f.gap_p99 = to_ms(b.between_tokens.quantile(0.99));
  fmt::print("{:>8} {:>6.0f} {:>6} {:>6} {:>8.1f}% {:>9.1f} {:>9.1f} {:>9.1f} {:>9.2f} {:>9.2f} {:>9.1f}\n",
             prefill, asked.rate_rps, asked.prompt, asked.tokens,
             100.0 * static_cast<double>(f.finished) / static_cast<double>(f.offered), f.busy_ms, f.ttft_p50,
             f.ttft_p99, f.tpot_p50, f.tpot_p99, f.gap_p99);
  return f;
}

struct both {
  explicit both(const sequences& asked) : eager(serve("eager", asked)), deferred(serve("deferred", asked)) {}
  run_result eager, deferred;
};

}  // namespace

TEST_CASE("prefill timing: deferred prompts need less of the device where answers are short") {
  fmt::print("{:>8} {:>6} {:>6} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "prefill", "r/s",
             "prompt", "answer", "served", "busy ms", "TTFT p50", "p99", "TPOT p50", "p99", "gap p99");
  const both few({5, 60, 8}), more({20, 60, 8}), many({60, 60, 8});
  CHECK(few.deferred.busy_ms < few.eager.busy_ms);
  CHECK(more.deferred.busy_ms < more.eager.busy_ms * 0.8);
  for (const auto* b : {&few, &more, &many}) {
    CHECK(b->deferred.ttft_p99 <= 505);
    CHECK(b->deferred.finished >= b->eager.finished * 99 / 100);
    CHECK(b->deferred.ttft_p50 > b->eager.ttft_p50);
  }
}

TEST_CASE("prefill timing: with long answers deferred prompts do not reduce device time") {
  const both chats({5, 160, 340}), readers({5, 1500, 100});
  for (const auto* b : {&chats, &readers}) {
    CHECK(b->deferred.busy_ms > b->eager.busy_ms * 0.8);
    CHECK(b->deferred.finished >= b->eager.finished * 97 / 100);
  }
}
