#include "tools/sim/llm_operator.hpp"

#include <fmt/format.h>

#include "actors/node_runtime.hpp"
#include "messages/commands/commands.hpp"
#include "messages/common/json_text.hpp"
#include "messages/wire/json.hpp"
#include "tools/sim/llm_reference.hpp"

namespace troupe::sim {

void llm_operator::start() {
  end_ = env_.time.now() + env_.workload.length;
  for (const auto& s : env_.workload.scales)
    env_.time.at(env_.time.now() + s.at, sim_event::client, [this, s] {
      auto reply = scale(s.model, s.instances);
      scale_answers_.push_back({s.model, reply.ok, std::move(reply.body)});
    });
  if (env_.workload.llm_changes_per_s > 0 && !env_.cluster.engines.empty()) schedule();
}

void llm_operator::schedule() {
  const auto pause = 2 * random_.uniform() / env_.workload.llm_changes_per_s;
  const auto at = env_.time.now() + duration{static_cast<int64_t>(pause * 1e9)};
  if (at >= end_) return;
  env_.time.at(at, sim_event::client, [this] {
    inject_move();
    schedule();
  });
}

void llm_operator::inject_move() {
  const auto engine = random_.below(env_.cluster.engines.size());
  const auto model = env_.cluster.engines[engine].model;
  if (env_.cluster.llms[model.value].scales && random_.below(2) == 0) return scale_some(model);
  switch (random_.below(4)) {
    case 0: return drain_some();
    case 1: return change_some_adapter(model);
    default: return migrate_some(model);
  }
}

address llm_operator::router(llm_id model) const {
  for (const auto n : leader_candidates(env_.cluster))
    if (env_.runtime_of(n) != nullptr && !env_.time.frozen(n)) return {n, {}, role::llm_router, model.value};
  return {scheduler_of(env_.cluster), {}, role::llm_router, model.value};
}

void llm_operator::migrate_some(llm_id model) {
  const auto reply = env_.ask(router(model), "list_generations", R"({"limit": 100, "after": 0})");
  if (!reply.ok) return;
  const auto generations = from_json<generation_list>(nlohmann::json::parse(reply.body)).generations;
  if (generations.empty()) return;
  const auto engines = engines_of(env_.cluster, model);
  const migrate order{generations[random_.below(generations.size())].request,
                      engines[random_.below(engines.size())].value};
  counts_.migrations += env_.ask(router(model), "migrate", json_text(to_json(order))).ok;
}

/// Drains an engine and takes it into service again later.
void llm_operator::drain_some() {
  const auto engine = static_cast<uint32_t>(random_.below(env_.cluster.engines.size()));
  const auto model = env_.cluster.engines[engine].model;
  const auto order = [this, engine, model](bool open) {
    return env_.ask(router(model), "drain_engine", json_text(to_json(drain_engine{engine, open}))).ok;
  };
  if (!order(false)) return;
  ++counts_.drains;
  const auto pause = duration{static_cast<int64_t>(random_.uniform() * 5e8)};
  env_.time.at(env_.time.now() + pause, sim_event::client, [order] { order(true); });
}

void llm_operator::scale_some(llm_id model) {
  const auto& m = env_.cluster.llms[model.value];
  const auto n =
      m.min_instances + static_cast<uint32_t>(random_.below(m.max_instances - m.min_instances + 1));
  const auto prefill = m.disaggregated() && n > 1 ? 1 + static_cast<uint32_t>(random_.below(n - 1)) : 0;
  counts_.scales += scale(model, n, prefill).ok;
}

command_reply llm_operator::scale(llm_id model, uint32_t instances, uint32_t prefill) {
  const auto order =
      json_text(to_json(scale_model{env_.cluster.llms[model.value].name, instances, false, prefill}));
  command_reply out;
  for (const auto node : leader_candidates(env_.cluster)) {
    auto reply = env_.ask({node, {}, role::parameter_pool, 0}, "scale_model", order);
    if (reply.ok) return reply;
    if (reply.body.find("is not the leader") == std::string::npos) out = std::move(reply);
  }
  return out;
}

void llm_operator::change_some_adapter(llm_id model) {
  const auto name =
      fmt::format("adapter-{:04}", random_.below(env_.cluster.llms[model.value].emulated_adapters + 2));
  for (uint32_t i = 0; i < env_.cluster.nodes.size(); ++i) {
    if (!env_.cluster.nodes[i].has(node_role::gateway) || env_.time.frozen(node_id{i})) continue;
    auto* gateway = env_.runtime_of(node_id{i});
    if (gateway == nullptr || random_.below(2) == 0) continue;
    ++counts_.adapter_changes;
    gateway->to_llm_gateway(
        change_adapter{next_token_++, model, random_.below(2) == 0, {name, adapter_folder(name)}});
    return;
  }
}

}  // namespace troupe::sim
