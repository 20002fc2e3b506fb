// What an engine says of itself: to gateways, to tools, to Prometheus.
#include <algorithm>
#include <array>

#include "actors/llm/engine.hpp"
#include "messages/commands/run_command.hpp"

namespace troupe {
namespace {

std::string_view to_string(llm::adapter_slots::place p) {
  constexpr std::array<std::string_view, 4> names{"away", "loading", "ready", "fenced"};
  return names[static_cast<size_t>(p)];
}

}  // namespace

std::string_view llm_engine::state() const {
  return !problem_.empty() ? "unusable" : !sequences_ ? "loading" : draining_ ? "draining" : "serving";
}

void llm_engine::busy_with(std::vector<node_id>& out) const {
  for (const auto& [_, f] : in_flight_)
    if (std::ranges::count(out, f.gateway.node) == 0) out.push_back(f.gateway.node);
}

engine_status llm_engine::status() const {
  engine_status s;
  s.model = options_.model;
  s.engine = options_.engine;
  s.max_sequences = options_.max_sequences;
  s.ready = sequences_ && !draining_;
  s.problem = problem_;
  s.adapter_slots = options_.adapter_slots;
  if (!sequences_) return s;
  const auto& scheduler = sequences_->scheduler();
  s.vocabulary = facts_.vocabulary;
  s.max_positions = facts_.max_positions;
  s.kv_tokens = facts_.blocks * facts_.block_tokens;
  s.block_tokens = facts_.block_tokens;
  s.running = scheduler.running();
  s.waiting = scheduler.waiting();
  s.kv_used =
      1 - static_cast<float>(scheduler.blocks().free()) / static_cast<float>(std::max(1u, facts_.blocks));
  const auto names = [&](const std::vector<llm::adapter_id>& ids) {
    std::vector<std::string> out;
    for (const auto id : ids)
      if (const auto* e = adapters_.find(id)) out.push_back(e->what.name);
    std::ranges::sort(out);
    return out;
  };
  s.uncomputed_tokens = scheduler.uncomputed_tokens();
  s.steps = pace_.forecast();
  if (scheduler.running() > 0)
    s.max_sequences = std::min(s.max_sequences, scheduler.max_running(context(now_)));
  s.running_adapters = names(scheduler.running_adapters());
  s.waiting_adapters = names(scheduler.waiting_adapters());
  return s;
}

void llm_engine::send_status(time_point now) {
  if (!status_changed_ || now < status_sent_at_ + options_.status_interval) return;
  status_changed_ = false;
  status_sent_at_ = now;
  auto s = status();
  if (sent_status_ && *sent_status_ == s) return;
  broadcast(s);
  sent_status_ = std::move(s);
}

llm_engine_state llm_engine::describe() const {
  llm_engine_state s;
  s.model = options_.name;
  s.state = state();
  s.problem = problem_;
  s.layers = facts_.layers;
  s.layers_ready = facts_.layers_ready;
  s.adapters = static_cast<uint32_t>(adapters_.size());
  s.adapter_slots = options_.adapter_slots;
  s.adapter_slots_taken = slots_.taken();
  s.adapter_loads = adapter_loads_;
  s.adapter_reads = adapter_reads_;
  s.steps = steps_;
  s.prompt_tokens = prompt_tokens_;
  s.generated_tokens = generated_tokens_;
  s.device_busy = device_busy_;
  if (!sequences_) return s;
  const auto& scheduler = sequences_->scheduler();
  s.running = scheduler.running();
  s.waiting = scheduler.waiting();
  s.kv_blocks = scheduler.blocks().count();
  s.kv_blocks_free = scheduler.blocks().free();
  s.preemptions = scheduler.preemptions();
  return s;
}

adapter_list llm_engine::list(const list_adapters& asked) const {
  adapter_list out;
  out.total = adapters_.size();
  for (const auto* e : adapters_.list(asked.after, std::min(asked.limit, longest_list))) {
    adapter_state s;
    s.name = e->what.name;
    s.path = e->what.path;
    s.place = to_string(slots_.of(e->id));
    s.running = sequences_ ? sequences_->scheduler().users(e->id) : 0;
    s.requests_open = e->open;
    s.requests = e->requests;
    s.loads = e->loads;
    s.last_load = e->last_load;
    s.bytes = e->bytes;
    s.problem = e->problem;
    out.adapters.push_back(std::move(s));
  }
  return out;
}

command_reply llm_engine::on_command(const command& c, time_point) {
  return run_command(llm_engine_commands{}, c,
                     overloaded{[&](const get_state&) { return describe(); },
                                [&](const list_adapters& l) { return list(l); }});
}

void llm_engine::report(std::vector<metric>& out) const {
  using enum metric::kind;
  const auto s = describe();
  const auto add = [&](const char* name, double value, metric::kind k) {
    out.push_back({name, {{"model", s.model}, {"engine", std::to_string(options_.engine.value)}}, value, k});
  };
  add("troupe_llm_sequences_running", s.running, gauge);
  add("troupe_llm_sequences_waiting", s.waiting, gauge);
  add("troupe_llm_kv_blocks", s.kv_blocks, gauge);
  add("troupe_llm_kv_blocks_free", s.kv_blocks_free, gauge);
  add("troupe_llm_steps_total", static_cast<double>(s.steps), counter);
  add("troupe_llm_prompt_tokens_total", static_cast<double>(s.prompt_tokens), counter);
  add("troupe_llm_generated_tokens_total", static_cast<double>(s.generated_tokens), counter);
  add("troupe_llm_preemptions_total", static_cast<double>(s.preemptions), counter);
  add("troupe_llm_device_busy_seconds_total", to_seconds(s.device_busy), counter);
  add("troupe_llm_adapters", s.adapters, gauge);
  add("troupe_llm_adapter_slots", s.adapter_slots, gauge);
  add("troupe_llm_adapter_slots_taken", s.adapter_slots_taken, gauge);
  add("troupe_llm_adapter_loads_total", static_cast<double>(s.adapter_loads), counter);
  add("troupe_llm_adapter_reads_total", static_cast<double>(s.adapter_reads), counter);
}

}  // namespace troupe
