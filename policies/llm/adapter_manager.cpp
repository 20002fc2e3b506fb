#include "policies/llm/adapter_manager.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace troupe::llm {
namespace {

std::string_view to_string(adapter_slots::place p) {
  constexpr std::array<std::string_view, 4> names{"away", "loading", "ready", "fenced"};
  return names[static_cast<size_t>(p)];
}

adapter_manager::outcome only_answer(const address& to, uint64_t token, adapter_answer what,
                                     std::string message = {}) {
  adapter_manager::outcome out;
  out.answer = {to, {token, what, std::move(message)}};
  return out;
}

}  // namespace

adapter_manager::adapter_manager(uint32_t slots, std::span<const adapter_entry> present) : slots_(slots) {
  for (const auto& a : present) registry_.add(a);
}

adapter_manager::outcome adapter_manager::change(const address& from, const change_adapter& asked,
                                                 bool model_loaded, time_point now) {
  if (!asked.load) return remove(from, asked, now);
  if (registry_.find(asked.adapter.name) != nullptr)
    return only_answer(from, asked.token, adapter_answer::exists);
  if (!model_loaded)
    return only_answer(from, asked.token, adapter_answer::refused, "the model is not loaded yet");
  if (slots_.slots() == 0)
    return only_answer(from, asked.token, adapter_answer::refused, "the engine has no adapter slots");
  return add(from, asked);
}

adapter_manager::outcome adapter_manager::add(const address& from, const change_adapter& asked) {
  auto& e = registry_.add(asked.adapter);
  e.checking = true;
  ++reading_;
  askers_[e.id] = {from, asked.token};
  outcome out;
  out.read = &e;
  return out;
}

adapter_manager::outcome adapter_manager::remove(const address& from, const change_adapter& asked,
                                                 time_point now) {
  auto* e = registry_.find(asked.adapter.name);
  if (e == nullptr || e->checking) return only_answer(from, asked.token, adapter_answer::unknown);
  registry_.unregister(*e);
  askers_[e->id] = {from, asked.token};
  due_ = true;
  outcome out;
  out.gone.push_back(asked.adapter.name);
  if (e->open == 0) out.answer = leave(*e, now);
  return out;
}

adapter_manager::outcome adapter_manager::on_read(adapter_id id, const std::string& problem) {
  auto* e = registry_.find(id);
  if (e == nullptr || !e->checking) return {};
  --reading_;
  const auto who = askers_[id];
  askers_.erase(id);
  if (!problem.empty()) {
    registry_.forget(id);
    return only_answer(who.gateway, who.token, adapter_answer::refused, problem);
  }
  e->checking = false;
  auto out = only_answer(who.gateway, who.token, adapter_answer::done);
  out.present.push_back(e->what);
  return out;
}

const adapter_manager::entry* adapter_manager::find(std::string_view name) const {
  const auto* e = const_cast<adapter_registry&>(registry_).find(name);
  return e == nullptr || e->checking ? nullptr : e;
}

void adapter_manager::begin_request(adapter_id id) {
  auto* e = registry_.find(id);
  ++e->open;
  ++e->requests;
}

std::optional<adapter_manager::reply> adapter_manager::end_request(adapter_id id, time_point now) {
  auto* e = registry_.find(id);
  if (--e->open > 0) return {};
  return leave(*e, now);
}

/// The last request with an adapter has ended.
std::optional<adapter_manager::reply> adapter_manager::leave(entry& e, time_point now) {
  const auto id = e.id;
  slots_.used(id, now);
  if (!e.leaving) return {};
  slots_.retire(id);
  due_ = true;
  registry_.forget(id);
  const auto who = askers_.find(id);
  if (who == askers_.end()) return {};
  reply out{who->second.gateway, {who->second.token, adapter_answer::done, {}}};
  askers_.erase(who);
  return out;
}

adapter_slots::decision adapter_manager::exchange(std::span<const adapter_id> wanted, const users_of& users,
                                                  time_point now) {
  due_ = false;
  return slots_.decide(wanted, users, now);
}

bool adapter_manager::on_loaded(const load& l, time_point now) {
  slots_.loaded(l.id, now);
  due_ = true;
  load_times_.add(to_seconds(l.took));
  reads_ += l.from_disk;
  auto* e = registry_.find(l.id);
  if (e == nullptr) return false;
  ++e->loads;
  e->last_load = l.took;
  e->bytes = l.bytes;
  e->problem.clear();
  return true;
}

const adapter_manager::entry* adapter_manager::on_failed(adapter_id id, const std::string& problem) {
  slots_.failed(id);
  due_ = true;
  auto* e = registry_.find(id);
  if (e != nullptr) e->problem = problem;
  return e;
}

std::vector<adapter_entry> adapter_manager::all() const {
  std::vector<adapter_entry> out;
  for (const auto* e : registry_.list({}, registry_.size())) out.push_back(e->what);
  return out;
}

std::vector<std::string> adapter_manager::names_of(std::span<const adapter_id> ids) const {
  std::vector<std::string> out;
  for (const auto id : ids)
    if (const auto* e = registry_.find(id)) out.push_back(e->what.name);
  std::ranges::sort(out);
  return out;
}

adapter_list adapter_manager::list(std::string_view after, size_t limit, const users_of& running) const {
  adapter_list out;
  out.total = registry_.size();
  for (const auto* e : registry_.list(after, limit)) {
    adapter_state s;
    s.name = e->what.name;
    s.path = e->what.path;
    s.place = to_string(slots_.of(e->id));
    s.running = running(e->id);
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

}  // namespace troupe::llm
