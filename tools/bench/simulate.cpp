#include "tools/bench/simulate.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <ctime>
#include <nlohmann/json.hpp>

#include "tools/bench/row.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"
#include "tools/sim/world.hpp"

namespace troupe {
namespace {

/// CPU time, which is independent of other work on the machine: there is one thread.
double seconds_since(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// One node for requests and decisions, eight workers with eight GPUs each; ten models with the latency of
/// the paper's ResNet50 on a 1080Ti (α = 1.053 ms, β = 5.072 ms).
cluster_spec big_cluster() {
  cluster_spec c;
  c.name = "bench";
  c.hash = "0000000000000000";
  c.nodes.resize(9);
  c.nodes[0].name = "head";
  c.nodes[0].roles = {node_role::gateway, node_role::scheduler};
  for (uint32_t i = 1; i < 9; ++i) {
    c.nodes[i].name = fmt::format("worker{}", i);
    c.nodes[i].roles = {node_role::worker};
    for (uint32_t k = 0; k < 8; ++k) c.slots.push_back({.node = node_id{i}, .kind = device_kind::emulated});
  }
  for (int i = 0; i < 10; ++i) {
    model_spec m;
    m.name = fmt::format("model{}", i);
    m.slo = 100ms;
    m.origin = profile_origin::given;
    m.latency = {1'053'000ns, 5'072'000ns};
    m.input_bytes = m.output_bytes = 16;
    c.models.push_back(m);
  }
  c.policy.network = {300us, 20us};
  c.policy.response = 1ms;
  c.limits.pool_bytes = 64 << 20;
  c.limits.request_timeout = 1s;
  c.limits.heartbeat = 100ms;
  c.limits.node_timeout = 1s;
  return c;
}

workload_spec busy(const cluster_spec& c, duration length) {
  workload_spec w;
  w.length = length;
  for (uint32_t i = 0; i < c.models.size(); ++i) {
    model_load l;
    l.model = model_id{i};
    l.rate_rps = 4000;
    l.slo = c.models[i].slo;
    l.latency = c.models[i].latency;
    w.models.push_back(l);
  }
  return w;
}

/// Messages a second between two bare actors under the same scheduler: the upper bound of the simulator.
double bare_messages_per_second() {
  caf::actor_system_config config;
  config.set("scheduler.policy", caf::atom("testing"));
  config.set("logger.verbosity", caf::atom("quiet"));
  caf::actor_system system(config);
  auto& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  constexpr int messages = 1'000'000;
  const auto echo = [](caf::event_based_actor* self) -> caf::behavior {
    return {[self](int left, const caf::actor& other) {
      if (left > 0) self->send(other, left - 1, caf::actor{self});
    }};
  };
  const auto a = system.spawn(echo), b = system.spawn(echo);
  while (scheduler.try_run_once()) {
  }
  const auto start = std::clock();
  caf::anon_send(a, messages, b);
  while (scheduler.try_run_once()) {
  }
  const auto took = seconds_since(start);
  for (const auto& x : {a, b}) caf::anon_send_exit(x, caf::exit_reason::kill);
  while (scheduler.try_run_once()) {
  }
  return messages / took;
}

/// Simulated quantities per second of CPU time.
struct simulated_rate {
  std::string what, how;
  double value;
  const char* unit;
  double reference;

  bench_row row() const {
    return {fmt::format("simulated {} a CPU second, {}", what, how), value, unit, reference};
  }
};

}  // namespace

int bench_simulate(const bench_simulate_options& options) {
  spdlog::set_level(spdlog::level::off);
  const auto cluster = big_cluster();
  const auto workload = busy(cluster, 5s);
  const double bare = bare_messages_per_second();
  std::vector<simulated_rate> rates;
  for (const bool caf_host_per_actor : {false, true}) {
    sim::world_options o;
    o.caf_host_per_actor = caf_host_per_actor;
    const auto start = std::clock();
    const auto result = sim::world(cluster, workload, o).run();
    const double took = seconds_since(start);
    if (!result.violations.empty()) {
      const auto& v = result.violations.front();
      report("the simulation violated an invariant: {}: {}", v.check, v.what);
      return exit_failed;
    }
    const char* how = caf_host_per_actor ? "every actor by itself" : "hosted as in reality";
    rates.push_back({"requests", how, static_cast<double>(result.total.offered) / took, "1/s", bare});
    rates.push_back({"messages", how, static_cast<double>(result.messages) / took, "1/s", bare});
    rates.push_back({"time", how, to_seconds(workload.length) / took, "s/s", 1});
  }
  if (options.json) {
    std::vector<bench_row> rows;
    for (const auto& r : rates) rows.push_back(r.row());
    fmt::print("{}\n", nlohmann::ordered_json{{"rows", rows_json(rows)}}.dump(2));
    return exit_done;
  }
  fmt::print("10 models, 64 emulated GPUs, 40000 requests/s; reference: bare messages between two actors\n");
  for (const auto& r : rates)
    fmt::print("simulated {:<8} a CPU second, {:<21} {:>12.1f} {:<5} reference {:>12.0f}  ratio {:.3f}\n",
               r.what, r.how, r.value, r.unit, r.reference, r.value / r.reference);
  return exit_done;
}

}  // namespace troupe
