// Consolidation (Punica, §5): few GPUs are busy with large batches, and the others are idle.
#include "tests/sim/llm_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

/// Sixteen engines as in the paper: an A100 each, 32 sequences at once
/// (examples/profiles/punica-7b-a100.toml).
cluster_spec sixteen_engines(std::string_view routing) {
  auto c = llm_cluster(routing);
  auto& m = c.llms[0];
  m.prefix_cache = false;  // as in Punica
  m.profile.step = {.fixed = 10568us,
                    .prefill_token = 60us,
                    .prefill_context = std::chrono::duration<double, std::nano>(2.6),
                    .decode = std::chrono::duration<double, std::micro>(32.3),
                    .decode_context = 252ns,
                    .longest_context = 2873ns};
  m.profile.adapter_load = 2ms;
  m.jitter = 0;
  m.max_positions = 4096;
  m.block_tokens = 16;
  m.kv_bytes = 80'000;  // positions: as 40 GB of half a megabyte each
  m.max_sequences = 32;
  m.prefill_chunk = 512;
  m.adapter_slots = 32;
  m.emulated_adapters = 100;
  m.timeout = 60s;
  m.consolidate_every = 1s;
  c.engines.clear();
  for (uint32_t i = 0; i < 16; ++i) c.engines.push_back({llm_id{0}, node_id{2 + i % 3}});
  return c;
}

/// Short sequences; at 55 a second they need three tenths of the token rate of sixteen full batches.
workload_spec steady() {
  workload_spec w;
  w.length = 80s;
  llm_load t;
  t.rate_rps = 55;
  t.min_prompt = 16;
  t.max_prompt = 48;
  t.min_tokens = 100;
  t.max_tokens = 300;
  t.adapters = 100;
  w.llms = {t};
  return w;
}

constexpr size_t steady_from = 200, steady_until = 800;  // samples, ten a second

}  // namespace

TEST_CASE("consolidation: at three tenths of the load nine of sixteen engines idle for a whole minute") {
  const auto c = sixteen_engines("punica");
  const auto r = run(c, steady(), {.seed = 1});
  CHECK(r.violations.empty());
  const auto& b = r.llms[0];
  CHECK(b.of(client_outcome::finished) == b.offered);
  REQUIRE(r.engine_sequences.size() >= steady_until);
  size_t idle = 0, busy_samples = 0, sequences = 0;
  for (size_t e = 0; e < 16; ++e) {
    bool ever = false;
    for (size_t k = steady_from; k < steady_until; ++k) {
      ever = ever || r.engine_sequences[k][e] > 0;
      busy_samples += r.engine_sequences[k][e] > 0;
      sequences += r.engine_sequences[k][e];
    }
    idle += !ever;
  }
  CHECK(idle >= 9);
  // the profile's time for a full batch of such sequences
  llm::step_shape full;
  full.decodes = 32;
  full.decode_context = 32 * (32 + 100);
  full.longest_context = 48 + 250;
  const auto predicted = c.llms[0].profile.step(full);
  fmt::print(
      "{} engines idle, {:.1f} sequences on a busy one; TPOT p50 {:.2f} p99 {:.2f} ms, {:.2f} by the "
      "profile; {} "
      "moved\n",
      idle, static_cast<double>(sequences) / static_cast<double>(busy_samples), to_ms(b.tpot.quantile(0.5)),
      to_ms(b.tpot.quantile(0.99)), to_ms(predicted), b.moved);
  CHECK(b.tpot.quantile(0.99) < predicted * 11 / 10);
}
