#include "tools/sim/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <cmath>

#include "actors/caf_types.hpp"
#include "tools/sim/clients.hpp"
#include "tools/sim/invariants.hpp"
#include "tools/sim/process.hpp"
#include "tools/sim/recording.hpp"
#include "tools/sim/timeline.hpp"
#include "tools/sim/trace.hpp"

namespace troupe::sim {
namespace {

struct system_config : caf::actor_system_config {
  system_config() {
    add_message_types<caf::id_block::troupe>();
    add_message_types<caf::id_block::troupe_actors>();
    set("scheduler.policy", caf::atom("testing"));
    set("logger.verbosity", caf::atom("quiet"));
  }
};

cluster_spec adjusted(cluster_spec cluster, const workload_spec& workload) {
  for (const auto& load : workload.models) {
    if (load.model.value >= cluster.models.size()) continue;  // to be deployed
    auto& m = cluster.models[load.model.value];
    m.slo = load.slo;
    if (load.latency != latency_model{}) m.latency = load.latency;
  }
  return cluster;
}

/// What the workload's loads ask for: the cluster's models, then those to be deployed.
std::vector<model_spec> all_models(const cluster_spec& cluster, const workload_spec& workload) {
  auto out = cluster.models;
  for (const auto& c : workload.changes)
    if (c.what == change_event::kind::deploy) out.push_back(c.model);
  return out;
}

/// Clocks that run as differently as the cluster assumes at most need no tolerance.
duration tolerance_for(const workload_spec& workload) {
  constexpr double assumed_ppm = 200;
  double worst = 2 * workload.clocks.max_drift_ppm;
  for (const auto& f : workload.faults)
    if (f.kind == fault_kind::clock_drift) worst += std::abs(f.drift_ppm);
  if (workload.random_faults.count > 0 || workload.random_faults.per_minute > 0) worst += 100;
  return worst <= assumed_ppm ? 20us
                              : duration{static_cast<int64_t>(to_seconds(workload.length) * worst * 1e3)};
}

}  // namespace

struct world::state final : device_watch {
  state(cluster_spec c, workload_spec w, const world_options& o)
      : options(o),
        workload(std::move(w)),
        cluster(adjusted(std::move(c), workload)),
        models(all_models(cluster, workload)),
        system(config),
        scheduler(dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler())),
        time(o.seed, cluster.nodes.size()),
        network(time, cluster, {}),
        interleaving(o.seed, "interleaving"),
        chance(o.seed, "world"),
        broken(time.truth()),
        fates(broken),
        ledgers(broken),
        starts(broken, tolerance_for(workload)),
        slots(broken),
        bytes(broken),
        memories(broken),
        calm(broken, workload.faults.empty() && workload.random_faults.count == 0 &&
                         workload.random_faults.per_minute == 0),
        poisons(broken, workload.random_faults.count == 0 && workload.random_faults.per_minute == 0 &&
                            std::all_of(workload.faults.begin(), workload.faults.end(),
                                        [](const auto& f) { return f.kind == fault_kind::poison; })),
        loaded(broken),
        drains(broken),
        everybody_reachable(workload.random_faults.count == 0 && workload.random_faults.per_minute == 0 &&
                            std::all_of(workload.faults.begin(), workload.faults.end(),
                                        [](const auto& f) {
                                          return f.kind == fault_kind::delay ||
                                                 f.kind == fault_kind::reorder ||
                                                 f.kind == fault_kind::slow_link;
                                        })),
        deployments(broken),
        hits(scheduler_of(cluster)),
        recorded(cluster),
        asking({cluster, models, workload, time, [this](node_id n) { return cast_of(n); },
                [this](node_id n) { return nodes[n.value].clock.now(); }, fates, ledgers, bytes, calm,
                poisons, hits},
               {o.hang_up, o.seed}) {
    random_stream r(o.seed, "clocks");
    for (uint32_t i = 0; i < cluster.nodes.size(); ++i) {
      const auto offset = 1h + duration{static_cast<int64_t>(
                                   r.uniform() * static_cast<double>(workload.clocks.max_offset.count()))};
      const auto drift = (2 * r.uniform() - 1) * workload.clocks.max_drift_ppm;
      nodes.push_back({sim_clock(time.truth(), offset, drift), nullptr, {}});
    }
    for (uint32_t i = 0; i < nodes.size(); ++i) time.set_clock(node_id{i}, nodes[i].clock);
    for (const auto& m : models) result.names.push_back(m.name);
    result.devices.resize(models.size());
  }

  ~state() override {
    for (const auto& a : operators) caf::anon_send_exit(a, caf::exit_reason::kill);
    settle();
    for (uint32_t i = 0; i < nodes.size(); ++i)
      if (nodes[i].running) end_process(node_id{i}, false);
  }

  struct member {
    sim_clock clock;
    std::unique_ptr<process> running;
    incarnation life;  ///< the latest
  };

  cast* cast_of(node_id n) { return nodes[n.value].running ? &nodes[n.value].running->actors() : nullptr; }

  /// Runs ready actors, in an order that the seed chooses, until none is.
  void settle() {
    auto& jobs = scheduler.jobs;
    while (!jobs.empty()) {
      if (jobs.size() > 1) std::swap(jobs.front(), jobs[interleaving.below(jobs.size())]);
      scheduler.run_once();
    }
  }
  void run_until(duration t) {
    while (time.step(t)) settle();
  }

  void begin_process(node_id id) {
    auto& n = nodes[id.value];
    if (n.running) return;
    if (time.frozen(id))
      return time.at(time.now() + 1ms, sim_event::fault, [this, id] { begin_process(id); });
    time.begin_process(id);
    ledgers.begin(id);
    n.running = std::make_unique<process>(
        id, ++processes,
        process::world{system, cluster, time, network, memory, n.clock, asking.port(id), *this,
                       [this](node_id at, const envelope& e) { delivered(at, e); },
                       [&n](incarnation last) { return n.life = {std::max(n.life.value, last.value) + 1}; },
                       [this, id](const std::string& why) {
                         broken.add("exception", why);
                         die(id);
                       },
                       [this, id] { drained(id); },
                       [this](const std::string& name) { return model_named(name); }, options.seed,
                       options.host_per_shell});
  }

  void end_process(node_id id, bool reset) {
    auto& n = nodes[id.value];
    if (!n.running) return;
    check_ledger(id);
    asking.gateway_died(id);
    time.end_process(id);
    network.crash(id, reset);
    n.running->kill();
    settle();
    const auto number = n.running->number();
    n.running.reset();
    // What was registered stays readable for a while, as shared memory does.
    const auto grace = duration{static_cast<int64_t>(chance.below(2'000'000'000))};
    time.at(time.now() + grace, sim_event::fault, [this, number] { memory.forget(number); });
  }

  /// The process on the node dies, and is started again as `troupe up` does it.
  void die(node_id id) {
    const auto number = nodes[id.value].running->number();
    const auto back = time.now() + 200ms;
    faults_end = std::max(faults_end, back);
    time.at(time.now(), sim_event::fault, [this, id, number, back] {
      if (!nodes[id.value].running || nodes[id.value].running->number() != number) return;
      end_process(id, chance.below(2) == 0);
      time.at(back, sim_event::fault, [this, id] { begin_process(id); });
    });
  }

  void die_of(request_id poison, node_id id) {
    poisons.killed(poison, id);
    die(id);
  }

  void check_ledger(node_id id) {
    if (!cluster.nodes[id.value].has(node_role::gateway) || !nodes[id.value].running) return;
    group_report all;
    for (const auto& host : cast_of(id)->office().hosts())
      caf::anon_send(host, report_query{[&all](group_report r) {
                       all.metrics.insert(all.metrics.end(), r.metrics.begin(), r.metrics.end());
                     }});
    settle();
    ledgers.report(id, result.names, all);
  }
  void record() {
    if (!options.record) return;
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      auto& n = nodes[i];
      if (!n.running || time.frozen(node_id{i})) continue;
      const auto ahead = n.clock.now().time_since_epoch() - time.now();
      recorded.collect(node_id{i}, n.running->number(), n.running->actors(), ahead, [this] { settle(); });
    }
  }
  void check_ledgers() {
    for (uint32_t i = 0; i < nodes.size(); ++i) check_ledger(node_id{i});
  }

  void delivered(node_id at, const envelope& e) {
    ++result.messages;
    tracing.delivered(time.now(), at, e);
    if (const auto* order = std::get_if<batch_order>(&e.body);
        order != nullptr && e.to.kind == role::gpu_worker) {
      orders.add(*order);
      for (const auto& r : order->requests)
        if (auto* asked = asking.find(r.id); asked != nullptr) asked->workers.push_back(at);
    }
  }

  // device_watch
  void batch_started(slot_id slot, const batch_work& work, time_point now) override {
    std::vector<uint64_t> inputs;
    for (const auto& p : work.parts) inputs.push_back(fnv1a(p.input));
    tracing.add(time.now());
    tracing.add(inputs);
    const auto* order = orders.find(slot, work.model, inputs);
    if (order == nullptr) return bytes.foreign_input(slot, work.model);
    for (size_t i = 0; i < order->requests.size(); ++i)
      if (poisons.is_poison(order->requests[i]) &&
          std::find(inputs.begin(), inputs.end(), order->inputs[i]) != inputs.end())
        die_of(order->requests[i], cluster.slots[slot.value].node);
    starts.started(slot, *order, now);
    for (const auto id : order->requests) {
      const auto* asked = asking.find(id);
      if (asked == nullptr) continue;
      const auto& m = models[work.model.value];
      starts.started(slot, id, time.now(), asked->accepted_at + asked->slo - m.latency(work.rows));
    }
  }
  void batch_ended(slot_id, model_id model, uint32_t rows, duration took) override {
    if (time.now() < measured_from || time.now() > measured_until) return;
    auto& d = result.devices[model.value];
    ++d.batches;
    d.rows += rows;
    d.busy += took;
  }
  void started_while_running(slot_id slot) override { slots.started_while_running(slot); }
  void started_unloaded(slot_id slot, model_id model) override { loaded.started_unloaded(slot, model); }
  void unloaded_while_running(slot_id slot, model_id model) override {
    loaded.unloaded_while_running(slot, model);
  }

  /// A definition's text is just the model's name here.
  deployer::model_reading model_named(const std::string& name) const {
    for (const auto& m : models)
      if (m.name == name) return {m, {}};
    return {{}, "no such model"};
  }
  void drained(node_id id);
  void make_changes();
  void change_accepted();

  void begin_fault(const fault_spec& f);
  void end_fault(const fault_spec& f);
  template <class Action>
  void for_links(const fault_spec& f, Action&& action);

  bool ready() const {
    for (const auto& n : nodes)
      if (!n.running || !n.running->ready()) return false;
    return true;
  }
  void start_cluster();
  void play();
  void drain();
  void check_end();

  const world_options options;
  const workload_spec workload;
  const cluster_spec cluster;
  const std::vector<model_spec> models;
  system_config config;
  caf::actor_system system;
  caf::scheduler::test_coordinator& scheduler;
  timeline time;
  sim_network network;
  sim_memory memory;
  random_stream interleaving, chance;
  trace tracing;
  violations broken;
  fate_check fates;
  ledger_check ledgers;
  start_check starts;
  slot_check slots;
  bytes_check bytes;
  memory_check memories;
  calm_check calm;
  poison_check poisons;
  loaded_check loaded;
  drain_check drains;
  const bool everybody_reachable;  ///< no fault makes nodes lose each other
  deployment_check deployments;
  order_book orders;
  fault_log hits;
  recording recorded;
  clients asking;
  std::vector<member> nodes;
  std::vector<caf::actor> operators;  ///< that wait for an answer
  size_t next_change = 0;
  uint64_t processes = 0;
  duration faults_end{};
  duration measured_from = duration::max(), measured_until = duration::max();
  world_result result;
};

template <class Action>
void world::state::for_links(const fault_spec& f, Action&& action) {
  if (f.a != f.b) return action(f.a, f.b);
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (node_id{i} != f.a) action(f.a, node_id{i});
}

void world::state::begin_fault(const fault_spec& f) {
  const auto now = time.now(), until = now + f.length;
  tracing.add(f.kind);
  tracing.add(now);
  hits.begin(f, now, until);
  const bool reset = chance.below(2) == 0;
  switch (f.kind) {
    case fault_kind::delay: for_links(f, [&](auto a, auto b) { network.begin_delay(a, b, f.extra); }); break;
    case fault_kind::reorder:
      for_links(f, [&](auto a, auto b) { network.begin_reorder(a, b, f.extra); });
      break;
    case fault_kind::slow_link:
      for_links(f, [&](auto a, auto b) { network.begin_slow(a, b, f.gbit_per_s); });
      break;
    case fault_kind::stall: for_links(f, [&](auto a, auto b) { network.begin_stall(a, b); }); break;
    case fault_kind::cut: for_links(f, [&](auto a, auto b) { network.begin_cut(a, b, until); }); break;
    case fault_kind::freeze: time.freeze(f.a); break;
    case fault_kind::clock_drift: nodes[f.a.value].clock.add_drift(f.drift_ppm); break;
    case fault_kind::crash: return end_process(f.a, reset);
    case fault_kind::poison: return asking.poison_next(f.a);
    case fault_kind::restart: end_process(f.a, reset); break;
  }
  faults_end = std::max(faults_end, until);
  time.at(until, sim_event::fault, [this, f] { end_fault(f); });
}

void world::state::end_fault(const fault_spec& f) {
  switch (f.kind) {
    case fault_kind::delay: return for_links(f, [&](auto a, auto b) { network.end_delay(a, b, f.extra); });
    case fault_kind::reorder:
      return for_links(f, [&](auto a, auto b) { network.end_reorder(a, b, f.extra); });
    case fault_kind::slow_link:
      return for_links(f, [&](auto a, auto b) { network.end_slow(a, b, f.gbit_per_s); });
    case fault_kind::stall: return for_links(f, [&](auto a, auto b) { network.end_stall(a, b); });
    case fault_kind::cut: return for_links(f, [&](auto a, auto b) { network.end_cut(a, b); });
    case fault_kind::freeze: return time.thaw(f.a);
    case fault_kind::clock_drift: return nodes[f.a.value].clock.add_drift(-f.drift_ppm);
    case fault_kind::restart: return begin_process(f.a);
    case fault_kind::crash:
    case fault_kind::poison: return;
  }
}

void world::state::start_cluster() {
  for (uint32_t i = 0; i < nodes.size(); ++i)
    time.at(duration{static_cast<int64_t>(chance.below(50'000'000))}, sim_event::fault,
            [this, i] { begin_process(node_id{i}); });
  const auto give_up = 30s;
  while (!ready() && time.now() < give_up) run_until(time.now() + 1ms);
  if (!ready()) broken.add("start", "the cluster did not become ready within 30 s");
}

void world::state::play() {
  const auto start = time.now();
  measured_from = start + workload.warmup;
  measured_until = start + workload.length;
  for (const auto& f : all_faults(workload, cluster, options.seed))
    time.at(start + f.at, sim_event::fault, [this, f] { begin_fault(f); });
  if (!workload.changes.empty())
    time.at(start + workload.changes.front().at, sim_event::fault, [this] { make_changes(); });
  asking.start();
  while (time.now() < measured_until) {
    record();
    run_until(std::min(time.now() + 100ms, measured_until));
    check_ledgers();
  }
}

/// Tells the deployer of a living node, which passes it on; again and again until it is accepted.
void world::state::make_changes() {
  if (next_change == workload.changes.size()) return;
  const auto& c = workload.changes[next_change];
  if (const auto due = measured_until - workload.length + c.at; time.now() < due)
    return time.at(due, sim_event::fault, [this] { make_changes(); });
  const auto again = [this] { time.at(time.now() + 100ms, sim_event::fault, [this] { make_changes(); }); };
  if (time.now() > measured_until + options.drain_at_most / 2) return;  // nobody is left who could do it
  std::vector<node_id> alive;
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].running && !time.frozen(node_id{i})) alive.push_back(node_id{i});
  if (alive.empty()) return again();
  const auto door = cast_of(alive[chance.below(alive.size())])->deployer_actor();
  const auto number = next_change;
  const auto tell = [&](auto command) {
    operators.push_back(system.spawn([this, door, command, number](caf::event_based_actor* self) {
      self->request(door, caf::infinite, command)
          .then(
              [this, number](const change_reply& r) {
                if (r.ok && number == next_change) change_accepted();
              },
              [](const caf::error&) {});
    }));
  };
  switch (c.what) {
    case change_event::kind::deploy: tell(deploy{1, c.model.name, {}}); break;
    case change_event::kind::redeploy: tell(redeploy{1, c.model.name, {}}); break;
    case change_event::kind::undeploy: tell(undeploy{1, c.model.name, {}}); break;
    case change_event::kind::drain: tell(drain_node{1, cluster.nodes[c.node.value].name}); break;
  }
  again();
}

void world::state::change_accepted() {
  const auto& c = workload.changes[next_change++];
  tracing.add(time.now());
  if (c.what != change_event::kind::drain)
    deployments.wanted(c.model.name, c.what != change_event::kind::undeploy);
}

/// The node has nothing left to do: its process ends by itself.
void world::state::drained(node_id id) {
  const auto number = nodes[id.value].running->number();
  time.at(time.now(), sim_event::fault, [this, id, number] {
    auto& n = nodes[id.value];
    if (!n.running || n.running->number() != number) return;
    const bool decides = id == scheduler_of(cluster) && everybody_reachable;
    drains.left(id, decides ? asking.waiting() : asking.waiting_at(id), n.running->running_batches());
    end_process(id, true);
    for (const auto& c : workload.changes)
      if (c.what == change_event::kind::drain && c.node == id && c.back_after > duration{}) {
        faults_end = std::max(faults_end, time.now() + c.back_after);
        time.at(time.now() + c.back_after, sim_event::fault, [this, id] { begin_process(id); });
      }
  });
}

void world::state::drain() {
  const auto give_up = time.now() + options.drain_at_most;
  run_until(std::max(time.now(), faults_end));
  while ((asking.waiting() > 0 || !asking.done()) && time.now() < give_up) run_until(time.now() + 10ms);
  fates.at_end(asking.waiting());
  record();
  // Then what the ends of lives and of time-outs leave behind.
  run_until(time.now() + 2 * cluster.limits.node_timeout + 2 * cluster.limits.request_timeout + 3s);
}

void world::state::check_end() {
  check_ledgers();
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    auto* cast = cast_of(node_id{i});
    if (cast == nullptr) continue;
    std::set<std::string> served;
    for (const auto& m : cast->models().all()) served.insert(m.name);
    if (cast_of(scheduler_of(cluster)) != nullptr) deployments.at_end(node_id{i}, served);
    memories.at_end(node_id{i}, cast->pool().slots(), cast->pool().in_use());
  }
}

world::world(cluster_spec cluster, workload_spec workload, const world_options& o)
    : state_(std::make_unique<state>(std::move(cluster), std::move(workload), o)) {}

world::~world() = default;

world_result world::run() {
  auto& s = *state_;
  s.start_cluster();
  s.play();
  s.drain();
  s.check_end();
  auto& r = s.result;
  r.models = s.asking.books();
  r.total = s.asking.total();
  r.measured = s.workload.length - s.workload.warmup;
  r.trace_hash = s.tracing.hash();
  r.events = s.time.steps();
  r.violations = s.broken.list();
  for (const auto& v : r.violations) r.ledger_balanced = r.ledger_balanced && v.check != "ledger";
  r.faults = s.hits.injected();
  r.hits = s.hits.hits();
  r.records = s.recorded.take();
  return r;
}

}  // namespace troupe::sim
