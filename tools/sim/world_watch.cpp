#include <fmt/format.h>

#include <algorithm>
#include <caf/send.hpp>
#include <iterator>
#include <optional>
#include <variant>

#include "messages/common/json_text.hpp"
#include "tools/common/decision_story.hpp"
#include "tools/sim/scaling_check.hpp"
#include "tools/sim/world_state.hpp"

namespace troupe::sim {

void world::state::delivered(node_id at, role group, const envelope& e) {
  if (group == role::parameter_pool) checks.plans.delivered(at, e);
  if (group == role::parameter_shard) {
    const auto* order = std::get_if<place_copy>(&e.body);
    if (order != nullptr && checks.shard_orders.source(order->model, at) != order->from)
      count_faults_of_transfer(at, *order);
    checks.shard_orders.delivered(at, e);
  }
  ++result.messages;
  tracing.delivered(time.now(), at, e);
  checks.homes.delivered(e, time.now());
  if (const auto* order = std::get_if<batch_order>(&e.body);
      order != nullptr && e.to.kind == role::gpu_worker) {
    orders.add(*order);
    checks.terms.heard(order->slot, order->term);
    for (const auto& r : order->requests)
      if (auto* asked = asking.find(r.id); asked != nullptr) asked->workers.push_back(at);
  }
  if (const auto* of_it = std::get_if<suspects>(&e.body))
    for (const auto id : of_it->requests)
      if (checks.poisons.is_poison(id)) checks.poisons.heard(id);
  if (const auto* d = std::get_if<drop_copy>(&e.body)) check_drop(at, d->model);
  if (const auto* s = std::get_if<engine_status>(&e.body); s != nullptr && e.to.kind == role::llm_router)
    engine_reported(*s);
  if (const auto* g = std::get_if<generate>(&e.body))
    for (const auto& r : g->requests) {
      reading.given(at, r);
      if (r.kv.lease) count_faults_of_handover(handovers.begin(r.kv, at));
    }
  if (const auto* h = std::get_if<handover>(&e.body); h != nullptr && e.to.kind == role::rank_arbiter)
    checks.terms.heard(h->slot, h->term);
  if (!std::holds_alternative<new_incarnation>(e.body)) return;
  for (uint32_t i = 0; i < cluster.slots.size(); ++i)
    if (cluster.slots[i].node == at) checks.once.ended(slot_id{i});
}

void world::state::sent(node_id by, std::span<const envelope> together) {
  checks.plans.sent(by, together);
  checks.shard_orders.sent(by, together);
  for (const auto& e : together) {
    checks.homes.sent(e, time.now());
    if (const auto* r = std::get_if<release_kv>(&e.body)) handovers.end(r->lease);
    if (const auto* s = std::get_if<suspects>(&e.body))
      for (const auto id : s->requests)
        if (checks.poisons.is_poison(id)) checks.poisons.told(id);
  }
}

void world::state::batch_started(slot_id slot, const batch_work& work, time_point now) {
  std::vector<uint64_t> inputs;
  for (const auto& p : work.parts) inputs.push_back(fnv1a(p.input));
  tracing.add(time.now());
  tracing.add(inputs);
  const auto* order = orders.find(slot, work.model, inputs);
  if (order == nullptr) return checks.bytes.foreign_input(slot, work.model);
  const auto worker = cluster.slots[slot.value].node;
  for (size_t i = 0; i < order->requests.size(); ++i)
    if (checks.poisons.is_poison(order->requests[i]) &&
        std::find(inputs.begin(), inputs.end(), order->inputs[i]) != inputs.end()) {
      checks.poisons.killed(order->requests[i], worker, order->term);
      die(worker);
    }
  checks.starts.started(slot, *order, now);
  checks.starts.started(slot, work.rows, models[work.model.value]);
  checks.terms.started(slot, order->term);
  checks.once.started(slot, order->requests);
  checks.quotas.started(slot, order->requests);
  std::optional<uint64_t> shape;
  for (const auto id : order->requests) {
    const auto* asked = asking.find(id);
    if (asked == nullptr) continue;
    if (shape.value_or(asked->shape) != asked->shape)
      checks.starts.started_mixed(slot, id, asked->shape, *shape);
    shape = asked->shape;
    const auto& m = models[work.model.value];
    checks.starts.started(slot, id, time.now(), asked->accepted_at + asked->slo - m.latency(work.rows));
  }
}

void world::state::batch_ended(slot_id slot, model_id model, uint32_t rows, duration took, bool stopped) {
  checks.quotas.ended(slot, stopped);
  checks.once.ended(slot);
  if (time.now() < measured_from || time.now() > measured_until) return;
  auto& d = result.devices[model.value];
  d.busy += took;
  if (stopped) {
    ++d.preempted;
    return;
  }
  ++d.batches;
  d.rows += rows;
}

void world::state::check_ledger(node_id id) {
  if (!cluster.nodes[id.value].has(node_role::gateway) || !nodes[id.value].running) return;
  group_report all;
  for (const auto& caf_host : runtime_of(id)->post().caf_hosts())
    caf::anon_send(caf_host, report_query{[&all](group_report r) {
                     std::ranges::move(r.metrics, std::back_inserter(all.metrics));
                   }});
  settle();
  checks.ledgers.report(id, result.names, all);
}

void world::state::check_ledgers() {
  for (uint32_t i = 0; i < nodes.size(); ++i) check_ledger(node_id{i});
}

command_reply world::state::ask(const address& to, const std::string& type, const std::string& fields) {
  command_reply out;
  if (to.node.value >= nodes.size()) return out;  // a request id may name an unknown node
  auto* runtime = runtime_of(to.node);
  if (runtime == nullptr || time.frozen(to.node)) return out;
  runtime->post().ask(to, {0, type, fields}, [&](command_reply r) { out = std::move(r); });
  settle();
  return out;
}

/// Checks that, after all sequences, KV blocks and adapter slots are free and no actor has a request.
void world::state::check_sequences(node_id id) {
  const auto state_of = [&]<class State>(std::type_identity<State>, role kind, uint32_t index) {
    const auto reply = ask({id, {}, kind, index}, "get_state", {});
    return reply.ok ? std::optional(from_json<State>(nlohmann::json::parse(reply.body))) : std::nullopt;
  };
  for (uint32_t i = 0; i < cluster.engines.size(); ++i) {
    if (cluster.engines[i].node != id) continue;
    const auto s = state_of(std::type_identity<llm_engine_state>{}, role::llm_engine, i);
    if (s) result.engines[i] = *s;
    if (s && (s->running + s->waiting > 0 || s->kv_blocks_free != s->kv_blocks))
      checks.broken.add("engine", fmt::format("engine {} has {} sequences, {} wait, {} of {} blocks are free",
                                              i, s->running, s->waiting, s->kv_blocks_free, s->kv_blocks));
  }
  for (uint32_t i = 0; i < cluster.llms.size(); ++i) {
    const auto s = state_of(std::type_identity<llm_router_state>{}, role::llm_router, i);
    if (s && s->requests > 0)
      checks.broken.add("router", fmt::format("the router of model {} on node {} remembers {} requests", i,
                                              id.value, s->requests));
    if (s && s->placed >= result.routers[i].placed) result.routers[i] = *s;
  }
  if (cluster.llms.empty() || !cluster.nodes[id.value].has(node_role::gateway)) return;
  if (const auto s = state_of(std::type_identity<gateway_state>{}, role::llm_gateway, 0); s && !s->balanced)
    checks.broken.add("ledger", fmt::format("the ledger of sequences on node {} does not balance", id.value));
}

/// A node gives up its images of a model only if others have them, as far as anybody can know, or if the
/// policy keeps no copies.
void world::state::check_drop(node_id at, weights_id model) {
  if (cluster.scaling.copies == 0) return;
  const auto& n = nodes[at.value];
  if (!n.running || !n.running->images().has_all(model)) return;
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (node_id{i} != at && nodes[i].running && nodes[i].running->images().has_all(model)) return;
  const auto died = holder_died.find(model);
  if (died != holder_died.end() && time.now() < died->second + 3 * cluster.limits.node_timeout) return;
  checks.broken.add("copies", fmt::format("node {} drops the last copy of model {}", at.value, model.value));
}

void world::state::check_instances() {
  if (!moves_weights(cluster)) return;
  const auto give_up = time.now() + 20s;
  std::string problem;
  do {
    run_until(time.now() + 100ms);
    const bool known = learn_pool();
    if (std::ranges::any_of(nodes, [](const member& n) { return n.running == nullptr; })) return;
    problem = known ? problem_with_instances() : "no node leads";
  } while (!problem.empty() && time.now() < give_up);
  if (!problem.empty()) checks.broken.add("instances", problem);
}

void world::state::check_scaling() {
  for (const auto n : leader_candidates(cluster)) {
    const auto reply = ask({n, {}, role::scale_planner, 0}, explain_scaling::type_name,
                           json_text(to_json(explain_scaling{longest_list, {}})));
    if (!reply.ok) continue;
    auto made = from_json<scaling_story>(nlohmann::json::parse(reply.body)).decisions;
    if (const auto problem = problem_with(made, cluster); !problem.empty())
      checks.broken.add("scaling", problem);
    std::ranges::move(made, std::back_inserter(result.scaling_decisions));
  }
}

/// False: no node leads.
bool world::state::learn_pool() {
  for (const auto n : leader_candidates(cluster)) {
    const auto reply = ask({n, {}, role::parameter_pool, 0}, "get_state", {});
    if (!reply.ok) continue;
    auto s = from_json<parameter_pool_state>(nlohmann::json::parse(reply.body));
    if (!s.leads) continue;
    result.pool = std::move(s);
    return true;
  }
  return false;
}

/// As the pool says.
std::string world::state::problem_with_instances() const {
  for (const auto& w : result.pool.wanted) {
    const auto serving = std::ranges::count_if(
        result.pool.instances, [&](const auto& i) { return i.model == w.model && i.stage == "serving"; });
    if (serving != w.instances)
      return fmt::format("model {} has {} instances, not {}", w.model, serving, w.instances);
  }
  return {};
}

void world::state::ask_why() {
  if (options.why == request_id{}) return;
  std::vector<address> queues;
  for (const auto n : leader_candidates(cluster))
    if (auto* runtime = runtime_of(n); runtime != nullptr)
      for (const auto& m : runtime->models().all())
        queues.push_back({n, {}, role::model_queue, m->model.value});
  size_t remembering = 0;
  result.story = find_story(
      options.why, queues,
      [this](const auto& to, const auto& type, const auto& fields) { return ask(to, type, fields.dump()); },
      remembering);
}

void world::state::watch_scale() {
  if (cluster.autoscale.mode == autoscale_mode::off) return;
  for (const auto n : leader_candidates(cluster)) {
    const auto reply = ask({n, {}, role::rank_arbiter, 0}, "get_state", {});
    if (!reply.ok) continue;
    const auto s = from_json<arbiter_state>(nlohmann::json::parse(reply.body)).autoscale;
    if (!s.on) continue;  // not the leader
    result.scale.push_back({time.now() - (measured_from - workload.warmup), s.gpus, s.advice});
    return;
  }
}

void world::state::watch_engines() {
  if (cluster.engines.empty()) return;
  auto& came = result.llm_tokens.emplace_back(0);
  for (const auto& b : reading.statistics()) came += b.tokens;
  auto& now = result.engine_sequences.emplace_back(cluster.engines.size());
  for (uint32_t i = 0; i < cluster.llms.size(); ++i)
    for (const auto n : leader_candidates(cluster)) {
      const auto reply = ask({n, {}, role::llm_router, i}, "get_state", {});
      if (!reply.ok) continue;
      for (const auto& e : from_json<llm_router_state>(nlohmann::json::parse(reply.body)).engines)
        now[e.engine] += e.sequences;
    }
}

void world::state::record() {
  if (!options.record) return;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    auto& n = nodes[i];
    if (!n.running || time.frozen(node_id{i})) continue;
    const auto ahead = n.clock.now().time_since_epoch() - time.now();
    recorded.collect(node_id{i}, n.running->number(), n.running->runtime(), ahead, [this] { settle(); });
  }
}

}  // namespace troupe::sim
