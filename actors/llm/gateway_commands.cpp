// The commands and the metrics of an LLM gateway. Metrics that the Kubernetes inference gateway routes by
// have vLLM's names (gateway-api-inference-extension, model server protocol).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "actors/common/ledger_report.hpp"
#include "actors/llm/gateway.hpp"
#include "messages/commands/run_command.hpp"

namespace troupe {
namespace {

struct engine_totals {
  uint32_t running = 0, waiting = 0, engines_up = 0, adapter_slots = 0;
  uint64_t kv_tokens = 0;
  float kv_used = 0;  // fraction
  std::set<std::string> running_adapters, waiting_adapters;
};

/// By model: the sums over its engines, and the requests without an engine.
std::vector<engine_totals> loads_of_models(size_t models, const llm_catalog& catalog,
                                           const in_flight_requests<in_flight_generation>& requests) {
  std::vector<engine_totals> out(models);
  for (const auto& e : catalog.engines()) {
    auto& l = out.at(e.model.value);
    l.running += e.running;
    l.waiting += e.waiting;
    l.engines_up += e.ready;
    l.adapter_slots += e.adapter_slots;
    l.kv_tokens += e.kv_tokens;
    l.kv_used += e.kv_used * static_cast<float>(e.kv_tokens);
    l.running_adapters.insert(e.running_adapters.begin(), e.running_adapters.end());
    l.waiting_adapters.insert(e.waiting_adapters.begin(), e.waiting_adapters.end());
  }
  for (auto& l : out) l.kv_used /= static_cast<float>(std::max<uint64_t>(1, l.kv_tokens));
  for (const auto& [_, f] : requests.entries()) out[f.asked.model.value].waiting += f.at == no_engine;
  return out;
}

/// vLLM's metrics of the adapters on an engine's device.
void report_adapters(const std::string& model, const engine_status& e, std::vector<metric>& out) {
  const std::vector<std::pair<std::string, std::string>> of{{"model_name", model},
                                                            {"engine", std::to_string(e.engine.value)}};
  const auto& d = e.on_device;
  out.push_back({"vllm:max_gpu_lora_adapters", of, static_cast<double>(e.adapter_slots)});
  out.push_back({"vllm:num_gpu_loaded_lora_adapters", of, static_cast<double>(d.names.size())});
  const histogram times(histogram::seconds(), d.loads, d.load_seconds);
  out.push_back({"vllm:lora_adapter_load_seconds", of, static_cast<double>(times.count()),
                 metric::kind::histogram, times});
  for (const auto& name : d.names) {
    auto adapter = of;
    adapter.insert(adapter.end(), {{"adapter_name", name}, {"level", "gpu"}, {"pinned", "false"}});
    out.push_back({"vllm:lora_adapter_loaded", std::move(adapter), 1});
  }
}

/// A finished generation request counts as in time.
ledger_report ledger_of_llms(const std::vector<std::string>& models, std::span<const outcome_counts> counts) {
  ledger_report out;
  for (size_t i = 0; i < models.size(); ++i) {
    const auto b = i < counts.size() ? counts[i] : outcome_counts{};
    out.models.push_back(line_of(models[i], b, b.finished));
  }
  return out;
}

}  // namespace

void llm_gateway::report(std::vector<metric>& out) const {
  using enum metric::kind;
  using labels = std::vector<std::pair<std::string, std::string>>;
  const auto add = [&](const char* name, labels l, double value, metric::kind k) {
    out.push_back({name, std::move(l), value, k});
  };
  const auto spread = [&](const char* name, const std::string& model, const troupe::histogram& h) {
    out.push_back({name, {{"model_name", model}}, static_cast<double>(h.count()), histogram, h});
  };
  add("troupe_llm_requests_in_flight", {}, static_cast<double>(in_flight_.size()), gauge);
  add("troupe_llm_ledger_balanced", {}, balanced() ? 1 : 0, gauge);
  add("troupe_llm_late_tokens_total", {}, static_cast<double>(late_tokens_), counter);
  for (const auto& e : catalog_.engines()) report_adapters(options_.models[e.model.value], e, out);
  const auto loads = loads_of_models(models_.size(), catalog_, in_flight_);
  const auto counts = in_flight_.counts().by_model();
  for (size_t i = 0; i < models_.size(); ++i) {
    const auto& name = options_.models[i];
    const labels of{{"model_name", name}};
    const auto& e = loads[i];
    add("vllm:num_requests_running", of, e.running, gauge);
    add("vllm:num_requests_waiting", of, e.waiting, gauge);
    add("vllm:kv_cache_usage_perc", of, e.kv_used, gauge);
    const auto& m = models_[i];
    const auto changed_at =
        m.adapters_changed_at == long_ago ? 0 : to_seconds(m.adapters_changed_at - options_.unix_epoch);
    add("vllm:lora_requests_info",
        {{"model_name", name},
         {"max_lora", std::to_string(e.adapter_slots)},
         {"running_lora_adapters", fmt::format("{}", fmt::join(e.running_adapters, ","))},
         {"waiting_lora_adapters", fmt::format("{}", fmt::join(e.waiting_adapters, ","))}},
        changed_at, gauge);
    add("vllm:prompt_tokens_total", of, static_cast<double>(m.prompt_tokens), counter);
    add("vllm:generation_tokens_total", of, static_cast<double>(m.generated_tokens), counter);
    add("vllm:prefix_cache_queries_total", of, static_cast<double>(m.cache_queries), counter);
    add("vllm:prefix_cache_hits_total", of, static_cast<double>(m.cache_hits), counter);
    spread("vllm:time_to_first_token_seconds", name, m.first_token);
    spread("vllm:inter_token_latency_seconds", name, m.between_tokens);
    spread("vllm:e2e_request_latency_seconds", name, m.whole);
    add("troupe_llm_moves_total", of, static_cast<double>(m.moves), counter);
    add("troupe_llm_engine_up", of, e.engines_up > 0 ? 1 : 0, gauge);
    add("troupe_llm_engines_up", of, e.engines_up, gauge);
    if (i >= counts.size()) continue;
    add("troupe_llm_requests_accepted_total", of, static_cast<double>(counts[i].accepted), counter);
    add("troupe_llm_requests_finished_total", of, static_cast<double>(counts[i].finished), counter);
    for (size_t k = 1; k < drop_reason_count; ++k)
      if (counts[i].dropped[k] > 0)
        add("troupe_llm_requests_dropped_total",
            {{"model_name", name}, {"reason", std::string(to_string(static_cast<drop_reason>(k)))}},
            static_cast<double>(counts[i].dropped[k]), counter);
    for (size_t k = 1; k < failure_count; ++k)
      if (counts[i].failed[k] > 0)
        add("troupe_llm_requests_failed_total",
            {{"model_name", name}, {"reason", std::string(to_string(static_cast<failure>(k)))}},
            static_cast<double>(counts[i].failed[k]), counter);
  }
}

command_reply llm_gateway::on_command(const command& c, time_point) {
  return run_command(llm_gateway_commands{}, c,
                     overloaded{[&](const get_state&) {
                                  auto s = state_of(in_flight_);
                                  s.late_answers = late_tokens_;
                                  s.scheduler_up = nodes_.up(router_);  // it runs on the scheduler's node
                                  return s;
                                },
                                [&](const get_ledger&) {
                                  return ledger_of_llms(options_.models, in_flight_.counts().by_model());
                                }});
}

}  // namespace troupe
