// What a gateway of language models says of itself, and for its engines: the metrics that the Kubernetes
// inference gateway routes by have vLLM's names (gateway-api-inference-extension, model server protocol).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "actors/common/reason_counts.hpp"
#include "actors/llm/gateway.hpp"
#include "messages/commands/run_command.hpp"

namespace troupe {

/// By model: what its engines say, and what waits for one.
std::vector<llm_gateway::load> llm_gateway::loads_of_models() const {
  std::vector<load> out(models_.size());
  for (const auto& e : catalog_.engines()) {
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
  for (const auto& [_, f] : in_flight_) out[f.asked.model.value].waiting += f.at == no_engine;
  return out;
}

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
  const auto loads = loads_of_models();
  const auto counts = ledger_.by_model();
  for (size_t i = 0; i < models_.size(); ++i) {
    const auto& name = options_.models[i];
    const labels of{{"model_name", name}};
    const auto& e = loads[i];
    add("vllm:num_requests_running", of, e.running, gauge);
    add("vllm:num_requests_waiting", of, e.waiting, gauge);
    add("vllm:kv_cache_usage_perc", of, e.kv_used, gauge);
    add("vllm:lora_requests_info",
        {{"model_name", name},
         {"max_lora", std::to_string(e.adapter_slots)},
         {"running_lora_adapters", fmt::format("{}", fmt::join(e.running_adapters, ","))},
         {"waiting_lora_adapters", fmt::format("{}", fmt::join(e.waiting_adapters, ","))}},
        1, gauge);
    const auto& m = models_[i];
    add("vllm:prompt_tokens_total", of, static_cast<double>(m.prompt_tokens), counter);
    add("vllm:generation_tokens_total", of, static_cast<double>(m.generated_tokens), counter);
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

gateway_state llm_gateway::describe() const {
  const auto all = ledger_.total();
  gateway_state s;
  s.in_flight = in_flight_.size();
  s.accepted = all.accepted;
  s.finished = all.finished;
  s.dropped = all.total_dropped();
  s.failed = all.total_failed();
  s.late_answers = late_tokens_;
  s.balanced = balanced();
  s.draining = draining_;
  return s;
}

ledger_report llm_gateway::ledger_of_models() const {
  ledger_report out;
  const auto counts = ledger_.by_model();
  for (size_t i = 0; i < models_.size(); ++i) {
    const outcome_counts b = i < counts.size() ? counts[i] : outcome_counts{};
    ledger_line line;
    line.model = options_.models[i];
    line.accepted = b.accepted;
    line.finished = line.in_time = b.finished;
    line.dropped = reason_counts<drop_reason>(b.dropped);
    line.failed = reason_counts<failure>(b.failed);
    out.models.push_back(std::move(line));
  }
  return out;
}

command_reply llm_gateway::on_command(const command& c, time_point) {
  return run_command(llm_gateway_commands{}, c,
                     overloaded{[&](const get_state&) { return describe(); },
                                [&](const get_ledger&) { return ledger_of_models(); }});
}

}  // namespace troupe
