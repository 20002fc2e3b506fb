// Which adapters an engine has: on its device, and for requests to name.
#include <algorithm>

#include "actors/common/planted_bug.hpp"
#include "actors/llm/engine.hpp"
#include "actors/llm/ids_where.hpp"

namespace troupe {

/// Half of the slots change hands at a time, so that the others go on.
void llm_engine::exchange_adapters(time_point now) {
  if (!sequences_ || !adapters_moved_) return;
  adapters_moved_ = false;
  const auto wanted = sequences_->scheduler().wanted_adapters((slots_.slots() + 1) / 2);
  const auto users = [this](llm::adapter_id a) {
    const auto& scheduler = sequences_->scheduler();
    if (planted(bug::hasty_slot))
      return static_cast<uint32_t>(std::ranges::count(scheduler.running_adapters(), a));
    return scheduler.users(a);
  };
  const auto moves = slots_.decide(wanted, users, now);
  for (const auto a : moves.fence) sequences_->scheduler().adapter_unloaded(a);
  for (const auto a : moves.unload) {
    sequences_->scheduler().adapter_unloaded(a);
    device_.unload_adapter(a);
  }
  for (const auto a : moves.load) {
    const auto& path = adapters_.find(a)->what.path;
    device_.load_adapter(a, planted(bug::wrong_slot) ? path + "1" : path);
  }
}

void llm_engine::change(const address& from, const change_adapter& c) {
  auto* known = adapters_.find(c.adapter.name);
  if (c.load) {
    if (known != nullptr) return answer(from, c.token, adapter_answer::exists);
    if (!sequences_) return answer(from, c.token, adapter_answer::refused, "the model is not loaded yet");
    if (options_.adapter_slots == 0)
      return answer(from, c.token, adapter_answer::refused, "the engine has no room for adapters");
    auto& e = adapters_.add(c.adapter);
    e.checking = true;
    askers_[e.id] = {from, c.token};
    return device_.read_adapter(e.id, c.adapter.path);
  }
  if (known == nullptr || known->checking) return answer(from, c.token, adapter_answer::unknown);
  const auto id = known->id;
  adapters_.unregister(*known);
  broadcast(adapters_known{options_.model, options_.engine, false, {}, {c.adapter.name}});
  askers_[id] = {from, c.token};
  adapters_moved_ = true;
  if (known->open == 0) leave(id);
}

void llm_engine::on_adapter_read(llm::adapter_id id, const std::string& problem) {
  auto* e = adapters_.find(id);
  if (e == nullptr || !e->checking) return;
  const auto who = askers_[id];
  askers_.erase(id);
  if (!problem.empty()) {
    adapters_.forget(id);
    return answer(who.gateway, who.token, adapter_answer::refused, problem);
  }
  e->checking = false;
  broadcast(adapters_known{options_.model, options_.engine, false, {e->what}, {}});
  answer(who.gateway, who.token, adapter_answer::done);
}

void llm_engine::on_adapter_ready(const llm::engine_event& e, time_point now) {
  slots_.loaded(e.adapter, now);
  adapters_moved_ = status_changed_ = true;
  ++adapter_loads_;
  adapter_reads_ += e.from_disk;
  auto* known = adapters_.find(e.adapter);
  if (known == nullptr) return;  // unregistered meanwhile, without requests: the next exchange unloads it
  ++known->loads;
  known->last_load = e.took;
  known->bytes = e.bytes;
  known->problem.clear();
  sequences_->scheduler().adapter_loaded(e.adapter);
}

/// The next request tries again: the files may be mended by then. What is wrong with them is for who asks
/// the engine, not for every tenant.
void llm_engine::on_adapter_failed(const llm::engine_event& e) {
  slots_.failed(e.adapter);
  adapters_moved_ = true;
  auto* known = adapters_.find(e.adapter);
  if (known == nullptr) return;
  known->problem = e.problem;
  fail_those(ids_where(in_flight_, [&](const in_flight_request& f) { return f.adapter == e.adapter; }),
             failure::adapter_unusable, "adapter '" + known->what.name + "' cannot be loaded");
}

/// The last request with an adapter has ended.
void llm_engine::leave(llm::adapter_id id) {
  slots_.used(id, now_);
  if (!adapters_.find(id)->leaving) return;
  slots_.retire(id);
  adapters_moved_ = true;
  if (const auto who = askers_.find(id); who != askers_.end()) {
    answer(who->second.gateway, who->second.token, adapter_answer::done);
    askers_.erase(who);
  }
  adapters_.forget(id);
}

void llm_engine::answer(const address& to, uint64_t token, adapter_answer what, std::string message) {
  send(to, adapter_changed{token, what, std::move(message)});
}

/// Gateways and routers.
void llm_engine::broadcast(const actor_message& news) {
  for (const auto n : options_.gateways)
    if (nodes_up_.contains(n)) send(on_node(n, role::llm_gateway), news);
  for (const auto n : options_.routers)
    if (nodes_up_.contains(n)) send(on_node(n, role::llm_router, options_.model.value), news);
}

adapters_known llm_engine::all_adapters() const {
  adapters_known out{options_.model, options_.engine, true, {}, {}};
  for (const auto* e : adapters_.list({}, adapters_.size())) out.present.push_back(e->what);
  return out;
}

}  // namespace troupe
