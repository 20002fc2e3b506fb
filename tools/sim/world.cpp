#include "tools/sim/world.hpp"

#include <algorithm>

#include "tools/sim/world_state.hpp"

namespace troupe::sim {
namespace {

sim_network::options network_options(const world_options& o) {
  constexpr sim_network::options no_time{1e9, {}, {}, {}, {}, {}, {}};
  auto out = o.instant ? no_time : sim_network::options{};
  out.image_scale = o.images.scale;
  return out;
}

cluster_spec adjusted(cluster_spec cluster, const workload_spec& workload) {
  for (const auto& load : workload.models) {
    if (load.model.value >= cluster.models.size()) continue;  // to be deployed
    auto& m = cluster.models[load.model.value];
    m.slo = load.slo;
    const bool learns = m.any_shape && m.origin == profile_origin::measured;
    if (load.latency != latency_model{} && !learns) m.latency = load.latency;
  }
  return cluster;
}

/// The models of the workload's loads: the cluster's models, then those to be deployed.
std::vector<model_spec> all_models(const cluster_spec& cluster, const workload_spec& workload) {
  auto out = cluster.models;
  for (const auto& c : workload.changes)
    if (c.what == change_event::kind::deploy) out.push_back(c.model);
  return out;
}

/// Decision logs keep everything for one query at the end, because queries during the run would add turns of
/// actors.
cluster_spec remembering(cluster_spec cluster, const world_options& o) {
  if (o.why != request_id{}) cluster.policy.decision_log = largest_decision_log;
  return cluster;
}

}  // namespace

world::state::state(cluster_spec c, workload_spec w, const world_options& o)
    : options(o),
      workload(std::move(w)),
      cluster(adjusted(std::move(c), workload)),
      models(all_models(cluster, workload)),
      system(config),
      scheduler(dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler())),
      time(o.seed, cluster.nodes.size()),
      network(time, cluster, network_options(o)),
      interleaving(o.seed, "interleaving"),
      chance(o.seed, "world"),
      checks(time.truth(), workload, cluster),
      everybody_reachable(
          faults_are_only(workload, {fault_kind::delay, fault_kind::reorder, fault_kind::slow_link})),
      hits(scheduler_of(cluster)),
      recorded(cluster),
      asking({cluster, models, workload, time, [this](node_id n) { return runtime_of(n); },
              [this](node_id n) { return nodes[n.value].clock.now(); }, checks, hits},
             {o.hang_up, o.seed}),
      reading({cluster, workload, time, [this](node_id n) { return runtime_of(n); },
               [this](node_id n) { return nodes[n.value].clock.now(); }, checks.broken, o.trace_generations},
              o.seed),
      disturbing(
          {cluster, workload, time, [this](node_id n) { return runtime_of(n); },
           [this](const auto& to, const auto& type, const auto& fields) { return ask(to, type, fields); }},
          o.seed),
      changing({system, cluster, workload, time, chance, [this](node_id n) { return runtime_of(n); },
                checks.deployments, tracing}) {
  random_stream r(o.seed, "clocks");
  for (uint32_t i = 0; i < cluster.nodes.size(); ++i) {
    const auto offset =
        1h +
        duration{static_cast<int64_t>(r.uniform() * static_cast<double>(workload.clocks.max_offset.count()))};
    const auto drift = (2 * r.uniform() - 1) * workload.clocks.max_drift_ppm;
    nodes.push_back({sim_clock(time.truth(), offset, drift), nullptr, {}});
  }
  for (uint32_t i = 0; i < nodes.size(); ++i) time.set_clock(node_id{i}, nodes[i].clock);
  result.engines.resize(cluster.engines.size());
  for (const auto& m : models) result.names.push_back(m.name);
  result.devices.resize(models.size());
  result.routers.resize(cluster.llms.size());
}

world::state::~state() {
  changing.stop();
  settle();
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].running) end_process(node_id{i}, false);
}

void world::state::settle() {
  auto& jobs = scheduler.jobs;
  while (!jobs.empty()) {
    if (jobs.size() > 1 && !options.in_order) std::swap(jobs.front(), jobs[interleaving.below(jobs.size())]);
    scheduler.run_once();
  }
}

void world::state::run_until(duration t) {
  while (time.step(t)) settle();
}

bool world::state::ready() const {
  for (const auto& n : nodes)
    if (!n.running || !n.running->ready()) return false;
  return true;
}

void world::state::start_cluster() {
  for (uint32_t i = 0; i < nodes.size(); ++i)
    time.at(duration{static_cast<int64_t>(chance.below(50'000'000))}, sim_event::fault,
            [this, i] { begin_process(node_id{i}); });
  const auto give_up = 30s;
  while (!ready() && time.now() < give_up) run_until(time.now() + 1ms);
  if (!ready()) checks.broken.add("start", "the cluster did not become ready within 30 s");
}

void world::state::play() {
  const auto start = time.now();
  measured_from = start + workload.warmup;
  measured_until = start + workload.length;
  for (const auto& f : all_faults(workload, cluster, options.seed))
    time.at(start + f.at, sim_event::fault, [this, f] { begin_fault(f); });
  if (!options.scaling.scales.empty() || !options.scaling.chain.empty())
    time.at(start + options.scaling.at, sim_event::client, [this] { scale(); });
  changing.start(measured_until + options.drain_at_most / 2);
  asking.start();
  reading.start();
  disturbing.start();
  while (time.now() < measured_until) {
    record();
    run_until(std::min(time.now() + 100ms, measured_until));
    check_ledgers();
    watch_scale();
    watch_engines();
  }
}

void world::state::drain() {
  const auto give_up = time.now() + options.drain_at_most;
  run_until(std::max(time.now(), faults_end));
  const auto unfinished = [this] { return asking.waiting() + reading.waiting(); };
  while ((unfinished() > 0 || !asking.done()) && time.now() < give_up) run_until(time.now() + 10ms);
  checks.outcomes.at_end(unfinished());
  record();
  // Also wait for the effects of ended incarnations and timeouts.
  run_until(time.now() + 2 * cluster.limits.node_timeout + 2 * cluster.limits.request_timeout + 3s);
}

void world::state::check_end() {
  check_instances();
  check_scaling();
  check_ledgers();
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    auto* runtime = runtime_of(node_id{i});
    if (runtime == nullptr) continue;
    std::set<std::string> served;
    for (const auto& m : runtime->models().all()) served.insert(m->name);
    if (runtime_of(scheduler_of(cluster)) != nullptr) checks.deployments.at_end(node_id{i}, served);
    checks.memories.at_end(node_id{i}, runtime->pool().slots(), runtime->pool().in_use());
    check_sequences(node_id{i});
  }
}

world::world(cluster_spec cluster, workload_spec workload, const world_options& o)
    : state_(std::make_unique<state>(remembering(std::move(cluster), o), std::move(workload), o)) {}

world::~world() = default;

world_result world::run() {
  auto& s = *state_;
  s.start_cluster();
  s.play();
  s.drain();
  s.ask_why();
  s.check_end();
  auto& r = s.result;
  r.models = s.asking.statistics();
  r.total = s.asking.total();
  for (const auto& n : s.nodes) r.incarnations.push_back(n.incarnation);
  r.terms = s.checks.terms.terms();
  r.llms = s.reading.statistics();
  r.traced_generations = s.reading.take_traced();
  r.llm_changes = s.disturbing.done();
  r.scale_answers = s.disturbing.scale_answers();
  r.old_orders = s.checks.shard_orders.old_orders();
  r.load_began = s.asking.started_at();
  r.measured = s.workload.length - s.workload.warmup;
  s.end_scaling();
  r.trace_hash = s.tracing.hash();
  r.events = s.time.steps();
  r.violations = s.checks.broken.list();
  for (const auto& v : r.violations) r.ledger_balanced = r.ledger_balanced && v.check != "ledger";
  r.faults = s.hits.injected();
  r.hits = s.hits.hits();
  r.records = s.recorded.take();
  return r;
}

}  // namespace troupe::sim
