// The status of an engine for gateways and routers, its commands and its metrics.
#include <algorithm>

#include "actors/llm/engine.hpp"
#include "messages/commands/run_command.hpp"

namespace troupe {

std::string_view llm_engine::state() const {
  return !problem_.empty() ? "unusable" : draining_ && batch_ ? "draining" : to_string(lifecycle_.stage());
}

void llm_engine::busy_with(std::vector<node_id>& out) const {
  if (batch_) batch_->add_gateways(out);
}

engine_status llm_engine::status(time_point now) const {
  engine_status s;
  s.model = options_.model;
  s.engine = options_.engine;
  s.max_sequences = options_.max_sequences;
  s.phase = phase_;
  s.stage = draining_ ? instance_stage::draining : lifecycle_.stage();
  s.ready = s.stage == instance_stage::serving;
  s.problem = problem_;
  s.adapter_slots = options_.adapter_slots;
  s.prefix_cache = options_.prefix_cache;
  s.vocabulary = facts_.vocabulary;
  s.max_positions = facts_.max_positions;
  s.kv_tokens = facts_.blocks * facts_.block_tokens;
  s.block_tokens = std::max(1u, facts_.block_tokens);
  if (!batch_) return s;
  const auto& scheduler = batch_->scheduler();
  s.running = scheduler.running();
  s.waiting = scheduler.waiting();
  s.kv_used = 1 - static_cast<float>(scheduler.blocks().available()) /
                      static_cast<float>(std::max(1u, facts_.blocks));
  s.uncomputed_tokens = scheduler.uncomputed_tokens();
  s.steps = clock_.forecast();
  if (scheduler.running() > 0)
    s.max_sequences = std::min(s.max_sequences, scheduler.max_running(clock_.context(now)));
  s.running_adapters = adapters_.names_of(scheduler.running_adapters());
  s.waiting_adapters = adapters_.names_of(scheduler.waiting_adapters());
  const auto& times = adapters_.load_times();
  s.on_device = {adapters_.on_device(), times.counts(), times.sum()};
  return s;
}

llm_engine_state llm_engine::describe() const {
  llm_engine_state s;
  s.model = options_.name;
  s.state = state();
  s.phase = to_string(phase_);
  s.problem = problem_;
  s.layers = facts_.layers;
  s.layers_ready = facts_.layers_ready;
  s.adapters = static_cast<uint32_t>(adapters_.size());
  s.adapter_slots = options_.adapter_slots;
  s.adapter_slots_taken = adapters_.slots_taken();
  s.adapter_loads = adapters_.loads();
  s.adapter_reads = adapters_.reads();
  s.steps = clock_.steps();
  s.prompt_tokens = prompt_tokens_;
  s.generated_tokens = generated_tokens_;
  s.computed_tokens = computed_tokens_;
  s.device_busy = clock_.busy();
  s.kv_leases = static_cast<uint32_t>(handovers_.leases().size());
  const auto& pulls = handovers_.pulls().done();
  s.kv_pulls = pulls.pulls;
  s.kv_pulls_failed = pulls.failed;
  s.kv_positions_pulled = pulls.positions;
  s.kv_bytes_pulled = pulls.bytes;
  if (!batch_) return s;
  const auto& scheduler = batch_->scheduler();
  s.running = scheduler.running();
  s.waiting = scheduler.waiting();
  s.kv_blocks = scheduler.blocks().count();
  s.kv_blocks_free = scheduler.blocks().available();
  s.kv_blocks_cached = scheduler.blocks().evictable();
  s.cache_queries = scheduler.cache_use().queried;
  s.cache_hits = scheduler.cache_use().hit;
  s.preemptions = scheduler.preemptions();
  return s;
}

command_reply llm_engine::on_command(const command& c, time_point) {
  const auto running = [this](llm::adapter_id a) { return batch_ ? batch_->scheduler().users(a) : 0; };
  return run_command(llm_engine_commands{}, c,
                     overloaded{[&](const get_state&) { return describe(); },
                                [&](const list_adapters& l) {
                                  return adapters_.list(l.after, std::min(l.limit, longest_list), running);
                                }});
}

void llm_engine::report(std::vector<metric>& out) const {
  using enum metric::kind;
  const auto s = describe();
  const decltype(metric::labels) labels{{"model", s.model},
                                        {"engine", std::to_string(options_.engine.value)}};
  const auto add = [&](const char* name, double value, metric::kind k) {
    out.push_back({name, labels, value, k});
  };
  add("troupe_llm_sequences_running", s.running, gauge);
  add("troupe_llm_sequences_waiting", s.waiting, gauge);
  add("troupe_llm_kv_blocks", s.kv_blocks, gauge);
  add("troupe_llm_kv_blocks_free", s.kv_blocks_free, gauge);
  add("troupe_llm_kv_blocks_cached", s.kv_blocks_cached, gauge);
  add("troupe_llm_steps_total", static_cast<double>(s.steps), counter);
  add("troupe_llm_prompt_tokens_total", static_cast<double>(s.prompt_tokens), counter);
  add("troupe_llm_generated_tokens_total", static_cast<double>(s.generated_tokens), counter);
  add("troupe_llm_computed_tokens_total", static_cast<double>(s.computed_tokens), counter);
  add("troupe_llm_preemptions_total", static_cast<double>(s.preemptions), counter);
  add("troupe_llm_kv_leases", s.kv_leases, gauge);
  add("troupe_llm_kv_pulls_total", static_cast<double>(s.kv_pulls), counter);
  add("troupe_llm_kv_pulls_failed_total", static_cast<double>(s.kv_pulls_failed), counter);
  add("troupe_llm_kv_positions_pulled_total", static_cast<double>(s.kv_positions_pulled), counter);
  add("troupe_llm_kv_bytes_pulled_total", static_cast<double>(s.kv_bytes_pulled), counter);
  add("troupe_llm_device_busy_seconds_total", to_seconds(s.device_busy), counter);
  add("troupe_llm_adapters", s.adapters, gauge);
  add("troupe_llm_adapter_slots", s.adapter_slots, gauge);
  add("troupe_llm_adapter_slots_taken", s.adapter_slots_taken, gauge);
  add("troupe_llm_adapter_loads_total", static_cast<double>(s.adapter_loads), counter);
  add("troupe_llm_adapter_reads_total", static_cast<double>(s.adapter_reads), counter);
}

}  // namespace troupe
