#include "actors/frontend/ui_snapshot.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace troupe {
namespace {

using nlohmann::ordered_json;

std::vector<std::string> roles_of(const node_spec& n) {
  std::vector<std::string> out;
  for (const auto& [role, word] :
       std::array<std::pair<node_role, const char*>, 4>{{{node_role::gateway, "gateway"},
                                                         {node_role::scheduler, "scheduler"},
                                                         {node_role::standby, "standby"},
                                                         {node_role::worker, "worker"}}})
    if (n.has(role)) out.emplace_back(word);
  return out;
}

std::optional<double> value_of_metric(const ui_sample::node& n, const std::string& name,
                                      const std::string& of) {
  const auto it = n.metrics.find({name, of});
  return it == n.metrics.end() ? std::nullopt : std::optional(it->second);
}

/// Over all nodes.
double sum(const ui_sample& s, const std::string& name, const std::string& of = {}) {
  double all = 0;
  for (const auto& [_, n] : s.nodes) all += value_of_metric(n, name, of).value_or(0);
  return all;
}

/// The increase of a counter, summed over the nodes with two comparable samples; nothing without such a node.
/// A metric that is missing in the earlier sample counts from 0.
std::optional<double> rise(const ui_sample& before, const ui_sample& now, const std::string& name,
                           const std::string& of) {
  std::optional<double> all;
  for (const auto& [node, n] : now.nodes) {
    const auto value = value_of_metric(n, name, of);
    const auto earlier = before.nodes.find(node);
    if (!value || earlier == before.nodes.end() || earlier->second.incarnation != n.incarnation ||
        earlier->second.metrics.empty())
      continue;
    all = all.value_or(0) + std::max(0.0, *value - value_of_metric(earlier->second, name, of).value_or(0));
  }
  return all;
}

/// The key of an engine's metrics; those of models have the model's name.
std::string engine_name(const std::string& number) { return "engine " + number; }

const char* word_for(device_kind k) {
  switch (k) {
    case device_kind::cpu: return "cpu";
    case device_kind::emulated: return "emulated";
    case device_kind::cuda: return "cuda";
  }
  return "unknown";
}

}  // namespace

void ui_sample::node::add(const std::string& name, labels of, double value) {
  std::string whose;
  for (const auto& [key, text] : of) {
    if (key == "quantile" && text != "0.99") return;
    if (key == "engine") whose = engine_name(text);
    if (whose.empty() && (key == "model" || key == "model_name" || key == "slot")) whose = text;
  }
  metrics[{name, whose}] += value;
}

void ui_sample::node::add(const metric_value& f) {
  std::vector<std::pair<std::string, std::string>> of;
  for (size_t at = 0; at < f.labels.size();) {
    const auto end = std::min(f.labels.find(',', at), f.labels.size());
    const auto label = f.labels.substr(at, end - at);
    if (const auto equals = label.find('='); equals != std::string::npos)
      of.emplace_back(label.substr(0, equals), label.substr(equals + 1));
    at = end + 1;
  }
  add(f.name, of, f.value);
}

ordered_json ui_snapshot::fold(ui_sample now) {
  while (before_.size() > 1 && before_[1].at <= now.at - window) before_.pop_front();
  ordered_json doc{
      {"at_s", to_seconds(now.at.time_since_epoch())}, {"cluster", cluster_.name}, {"gateway", now.gateway}};
  auto& nodes = doc["nodes"] = ordered_json::array();
  for (const auto& n : cluster_.nodes) nodes.push_back(node_of(now, n));
  auto& slots = doc["slots"] = ordered_json::array();
  for (uint32_t s = 0; s < cluster_.slots.size(); ++s) slots.push_back(slot_of(now, s));
  std::set<std::string> names;  // a redeployed model has had several ids
  for (const auto& [_, name] : now.models) names.insert(name);
  auto& models = doc["models"] = ordered_json::array();
  for (const auto& name : names) models.push_back(model_of(now, name));
  auto& llms = doc["llms"] = ordered_json::array();
  for (const auto& m : cluster_.llms) llms.push_back(llm_of(now, m.name));
  auto& engines = doc["engines"] = ordered_json::array();
  for (uint32_t e = 0; e < cluster_.engines.size(); ++e) engines.push_back(engine_of(now, e));
  now.batches.clear();
  now.adapters.clear();
  before_.push_back(std::move(now));
  return doc;
}

ordered_json ui_snapshot::rate(const ui_sample& now, const std::string& name, const std::string& of) const {
  if (before_.empty() || before_.front().at >= now.at) return nullptr;
  const auto more = rise(before_.front(), now, name, of);
  if (!more) return nullptr;
  return *more / to_seconds(now.at - before_.front().at);
}

/// The mean of a histogram's samples in the window.
ordered_json ui_snapshot::mean_ms(const ui_sample& now, const std::string& name,
                                  const std::string& of) const {
  if (before_.empty()) return nullptr;
  const auto count = rise(before_.front(), now, name + "_count", of);
  const auto seconds = rise(before_.front(), now, name + "_sum", of);
  if (!count || !seconds || *count <= 0) return nullptr;
  return *seconds / *count * 1000;
}

ordered_json ui_snapshot::node_of(const ui_sample& now, const node_spec& spec) const {
  const auto it = now.nodes.find(spec.name);
  ordered_json out{{"name", spec.name},
                   {"roles", roles_of(spec)},
                   {"state", it == now.nodes.end() ? "unknown" : it->second.state}};
  out["in_flight"] = it == now.nodes.end()
                         ? 0
                         : value_of_metric(it->second, "troupe_requests_in_flight", "").value_or(0) +
                               value_of_metric(it->second, "troupe_llm_requests_in_flight", "").value_or(0);
  return out;
}

ordered_json ui_snapshot::slot_of(const ui_sample& now, uint32_t slot) const {
  const auto& spec = cluster_.slots[slot];
  const auto name = std::to_string(slot);
  ordered_json out{{"slot", slot},
                   {"node", node_name(cluster_, spec.node)},
                   {"device", word_for(spec.kind)},
                   {"busy", rate(now, "troupe_worker_busy_seconds_total", name)},
                   {"batches_per_s", rate(now, "troupe_worker_batches_total", name)}};
  auto& batches = out["batches"] = ordered_json::array();
  if (const auto it = now.batches.find(slot); it != now.batches.end())
    for (const auto& b : it->second.batches)
      batches.push_back({{"number", b.number},
                         {"model", name_of(now, b.model)},
                         {"requests", b.requests},
                         {"rows", b.rows},
                         {"ended_ago_ms", to_ms(b.ended_ago)},
                         {"took_ms", to_ms(b.took)},
                         {"stopped", b.stopped}});
  return out;
}

ordered_json ui_snapshot::model_of(const ui_sample& now, const std::string& name) const {
  double p99 = 0;  // of the slowest gateway
  for (const auto& [_, n] : now.nodes)
    p99 = std::max(p99, value_of_metric(n, "troupe_request_latency_seconds", name).value_or(0));
  return {{"name", name},
          {"slots", sum(now, "troupe_queue_slots", name)},
          {"waiting", sum(now, "troupe_queue_requests", name)},
          {"waiting_rows", sum(now, "troupe_queue_rows", name)},
          {"dropped", sum(now, "troupe_requests_dropped_total", name)},
          {"failed", sum(now, "troupe_requests_failed_total", name)},
          {"requests_per_s", rate(now, "troupe_requests_accepted_total", name)},
          {"goodput_per_s", rate(now, "troupe_requests_in_time_total", name)},
          {"dropped_per_s", rate(now, "troupe_requests_dropped_total", name)},
          {"batches_per_s", rate(now, "troupe_batches_total", name)},
          {"p99_ms", p99 * 1000}};
}

ordered_json ui_snapshot::llm_of(const ui_sample& now, const std::string& llm) const {
  return {{"name", llm},
          {"waiting", sum(now, "troupe_llm_router_waiting", llm)},
          {"requests_per_s", rate(now, "troupe_llm_requests_accepted_total", llm)},
          {"finished_per_s", rate(now, "troupe_llm_requests_finished_total", llm)},
          {"generated_tokens_per_s", rate(now, "vllm:generation_tokens_total", llm)},
          {"moves_per_s", rate(now, "troupe_llm_moves_total", llm)},
          {"dropped", sum(now, "troupe_llm_requests_dropped_total", llm)},
          {"failed", sum(now, "troupe_llm_requests_failed_total", llm)},
          {"ttft_ms", mean_ms(now, "vllm:time_to_first_token_seconds", llm)},
          {"itl_ms", mean_ms(now, "vllm:inter_token_latency_seconds", llm)}};
}

ordered_json ui_snapshot::engine_of(const ui_sample& now, uint32_t engine) const {
  const auto& spec = cluster_.engines[engine];
  const auto name = engine_name(std::to_string(engine));
  const auto it = now.engines.find(engine);
  const auto s = it == now.engines.end() ? llm_engine_state{} : it->second;
  ordered_json out{{"engine", engine},
                   {"name", cluster_.llms[spec.model.value].name},
                   {"node", node_name(cluster_, spec.node)},
                   {"state", s.state.empty() ? "unknown" : s.state},
                   {"problem", s.problem},
                   {"running", s.running},
                   {"waiting", s.waiting},
                   {"kv_blocks", s.kv_blocks},
                   {"kv_blocks_used", s.kv_blocks - std::min(s.kv_blocks, s.kv_blocks_free)},
                   {"adapters", s.adapters},
                   {"adapter_slots", s.adapter_slots},
                   {"adapter_slots_taken", s.adapter_slots_taken},
                   {"steps_per_s", rate(now, "troupe_llm_steps_total", name)},
                   {"prompt_tokens_per_s", rate(now, "troupe_llm_prompt_tokens_total", name)},
                   {"generated_tokens_per_s", rate(now, "troupe_llm_generated_tokens_total", name)},
                   {"busy", rate(now, "troupe_llm_device_busy_seconds_total", name)}};
  auto& resident = out["resident"] = ordered_json::array();
  if (const auto list = now.adapters.find(engine); list != now.adapters.end())
    for (const auto& a : list->second.adapters)
      if (a.place != "away")
        resident.push_back({{"name", a.name}, {"place", a.place}, {"running", a.running}});
  return out;
}

std::string ui_snapshot::name_of(const ui_sample& now, model_id model) const {
  const auto it = now.models.find(model);
  if (it != now.models.end()) return it->second;
  if (model.value < cluster_.models.size()) return cluster_.models[model.value].name;
  return "model " + std::to_string(model.value);
}

}  // namespace troupe
