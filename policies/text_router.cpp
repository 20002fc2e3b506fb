#include "policies/text_router.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

uint64_t in_blocks(uint64_t tokens, const engine_status& s) {
  const uint64_t block = std::max(1u, s.block_tokens);
  return (tokens + block - 1) / block * block;
}

}  // namespace

text_router::text_router(options o, std::unique_ptr<text_routing> routing)
    : options_(std::move(o)), routing_(std::move(routing)) {
  for (const auto id : options_.engines) engines_[id];
}

void text_router::on_status(const engine_status& s, time_point now) {
  const auto found = engines_.find(s.engine);
  if (found == engines_.end()) return;
  auto& e = found->second;
  e.up = true;
  e.said = s;
  forget_old(e, now - options_.status_age);
}

/// What came by then, the engine has counted.
void text_router::forget_old(engine& e, time_point then) {
  for (; !e.fresh.empty() && e.fresh.front().at <= then; e.fresh.pop_front())
    e.fresh_tokens -= e.fresh.front().tokens;
}

/// Of an adapter that is not known: one that no engine has.
text_router::adapter_number text_router::number_of(const std::string& adapter) const {
  if (adapter.empty()) return base_model;
  const auto known = numbers_.find(adapter);
  return known == numbers_.end() ? UINT32_MAX : known->second;
}

text_router::adapter_number text_router::number_for(const std::string& adapter) {
  if (adapter.empty()) return base_model;
  return numbers_.try_emplace(adapter, static_cast<adapter_number>(numbers_.size() + 1)).first->second;
}

void text_router::on_adapters(const adapters_known& a) {
  const auto found = engines_.find(a.engine);
  if (found == engines_.end()) return;
  auto& known = found->second.adapters;
  if (a.all) known.clear();
  const auto mark = [&](const std::string& name, bool there) {
    const auto n = number_for(name);
    if (n >= known.size()) known.resize(n + 1);
    known[n] = there;
  };
  for (const auto& entry : a.present) mark(entry.name, true);
  for (const auto& name : a.gone) mark(name, false);
}

void text_router::lose_engine(engine_id id) {
  const auto found = engines_.find(id);
  if (found == engines_.end()) return;
  for (const auto lost : found->second.requests) requests_.at(lost).asked.at = no_engine;
  const bool closed = found->second.closed;
  found->second = {};
  found->second.closed = closed;
}

bool text_router::close(engine_id id, bool closed) {
  const auto found = engines_.find(id);
  if (found == engines_.end()) return false;
  found->second.closed = closed;
  return true;
}

void text_router::on_route(const address& gateway, const route& r) {
  if (r.all) lose_gateway(gateway.node);
  for (const auto& asked : r.requests) {
    if (const auto known = requests_.find(asked.id); known != requests_.end()) forget(known);
    auto& fresh = requests_[asked.id] = {gateway, asked};
    if (engines_.contains(asked.at)) {
      put(fresh, asked.at);
    } else {
      fresh.asked.at = no_engine;
      waiting_.insert(place_of(asked));
    }
  }
}

void text_router::on_end(request_id id) {
  if (const auto known = requests_.find(id); known != requests_.end()) forget(known);
}

void text_router::on_evicted(const texts_evicted& e) {
  for (const auto id : e.requests)
    if (const auto r = requests_.find(id); r != requests_.end() && r->second.asked.at == e.engine)
      evicted_.insert(id);
}

void text_router::lose_gateway(node_id node) {
  for (auto r = requests_.begin(); r != requests_.end();)
    if (const auto it = r++; it->second.gateway.node == node) forget(it);
}

void text_router::clear() {
  while (!requests_.empty()) forget(requests_.begin());
  for (const auto id : options_.engines) lose_engine(id);
  decisions_.clear();
}

text_router::place_in_queue text_router::place_of(const routed_request& r) const {
  const auto due = r.begun ? r.arrival : r.due != never ? r.due : r.arrival + options_.patience;
  return {r.priority, due, r.id};
}

uint64_t text_router::free_tokens(const engine& e) {
  const double free = (1 - static_cast<double>(e.said.kv_used)) * e.said.kv_tokens;
  const auto tokens = static_cast<uint64_t>(std::max(0.0, free) + 0.5);
  return tokens - std::min(tokens, e.fresh_tokens);
}

/// An engine without texts takes whatever it can hold at all.
bool text_router::has_room(const engine& e, const load& with) {
  if (e.texts == 0 && with.tokens <= e.said.kv_tokens) return true;
  const auto texts = e.texts + with.texts;
  if (texts > e.said.max_sequences) return false;
  return free_tokens(e) >= in_blocks(with.tokens, e.said) + uint64_t{texts} * e.said.block_tokens;
}

bool text_router::may_have(const engine& e, const routed_request& r, adapter_number a) {
  return e.open() && r.tokens <= e.said.kv_tokens && e.has(a);
}

bool text_router::full(const engine& e) { return !has_room(e, {1, e.said.block_tokens}); }

engine_id text_router::choose(const routed_request& r, engine_id other_than) {
  const auto adapter = number_of(r.adapter);
  loads_.clear();
  for (const auto& [id, e] : engines_) {
    if (id == other_than || !may_have(e, r, adapter) || !has_room(e, {r.texts, r.tokens})) continue;
    const auto running = static_cast<uint32_t>(e.running.size());
    loads_.push_back({id, e.texts, running, std::ranges::count(e.resident, adapter) > 0,
                      running < e.said.adapter_slots, e.resident.size() < e.said.adapter_slots});
  }
  return loads_.empty() ? no_engine : loads_[routing_->choose(adapter != base_model, loads_)].id;
}

void text_router::put(request& r, engine_id to) {
  auto& e = engines_.at(to);
  r.asked.at = to;
  e.requests.insert(r.asked.id);
  e.texts += r.asked.texts;
  const auto adapter = number_for(r.asked.adapter);
  if (adapter == base_model) return;
  const auto its = std::ranges::find(e.running, adapter, &std::pair<adapter_number, uint32_t>::first);
  if (its == e.running.end())
    e.running.emplace_back(adapter, 1);
  else
    ++its->second;
  use_slot(e, adapter);
}

/// As the engine will: the adapter that was used longest ago gives its slot up (policies/adapter_slots.hpp).
void text_router::use_slot(engine& e, adapter_number adapter) {
  std::erase(e.resident, adapter);
  e.resident.push_back(adapter);
  const auto runs = [&](adapter_number a) {
    return std::ranges::count(e.running, a, &std::pair<adapter_number, uint32_t>::first) > 0;
  };
  for (auto a = e.resident.begin(); e.resident.size() > e.said.adapter_slots && a != e.resident.end();)
    a = runs(*a) ? std::next(a) : e.resident.erase(a);
}

void text_router::take_from_engine(request& r) {
  const auto found = engines_.find(r.asked.at);
  r.asked.at = no_engine;
  if (found == engines_.end()) return;
  auto& e = found->second;
  e.requests.erase(r.asked.id);
  e.texts -= r.asked.texts;
  const auto adapter = number_for(r.asked.adapter);
  if (adapter == base_model) return;
  const auto its = std::ranges::find(e.running, adapter, &std::pair<adapter_number, uint32_t>::first);
  if (--its->second > 0) return;
  *its = e.running.back();
  e.running.pop_back();
  use_slot(e, adapter);
}

void text_router::forget(std::map<request_id, request>::iterator r) {
  take_from_engine(r->second);
  waiting_.erase(place_of(r->second.asked));
  evicted_.erase(r->first);
  requests_.erase(r);
}

void text_router::move(request& r, engine_id to, route_reason why, time_point now) {
  take_from_engine(r);
  put(r, to);
  auto& e = engines_.at(to);
  e.fresh.push_back({now, r.asked.tokens});
  e.fresh_tokens += r.asked.tokens;
  ++counts_.moved[static_cast<size_t>(why)];
  decisions_.push_back({r.gateway, {r.asked.id, r.asked.version, to, why}});
}

/// Its gateway says that it has ended.
void text_router::refuse(request_id id, drop_reason why) {
  const auto r = requests_.find(id);
  ++counts_.refused;
  decisions_.push_back({r->second.gateway, {id, r->second.asked.version, no_engine}, why});
  forget(r);
}

void text_router::place_waiting(time_point now) {
  for (auto w = waiting_.begin(); w != waiting_.end();) {
    auto& r = requests_.at(std::get<request_id>(*w++));
    const auto& asked = r.asked;
    if (!asked.begun && asked.due < now) {
      refuse(asked.id, drop_reason::late);
      continue;
    }
    if (const auto to = choose(asked); to != no_engine) {
      waiting_.erase(place_of(asked));
      move(r, to, route_reason::placed, now);
      continue;
    }
    size_t open = 0, suitable = 0, coming = 0;
    for (const auto& [_, e] : engines_) {
      open += e.open();
      suitable += may_have(e, asked, number_of(asked.adapter));
      coming += e.up && !e.said.ready && e.said.problem.empty();
    }
    if (suitable == 0 && coming == 0)
      refuse(asked.id,
             open == 0 || asked.adapter.empty() ? drop_reason::no_capacity : drop_reason::undeployed);
    else if (suitable == open)
      break;
  }
  for (auto w = waiting_.end(); waiting_.size() > options_.most_waiting && w != waiting_.begin();) {
    const auto last = std::get<request_id>(*--w);
    if (requests_.at(last).asked.begun) continue;
    const auto next = std::next(w);
    refuse(last, drop_reason::queue_full);
    w = next;
  }
}

void text_router::move_evicted(time_point now) {
  for (const auto id : std::exchange(evicted_, {})) {
    auto& r = requests_.at(id);
    if (const auto to = choose(r.asked, r.asked.at); to != no_engine) move(r, to, route_reason::evicted, now);
  }
}

void text_router::empty_closed(time_point now) {
  for (auto& [id, e] : engines_) {
    if (!e.up || e.open()) continue;
    for (const auto leaving : std::vector(e.requests.begin(), e.requests.end())) {
      auto& r = requests_.at(leaving);
      if (const auto to = choose(r.asked, id); to != no_engine) move(r, to, route_reason::drained, now);
    }
  }
}

const std::vector<text_router::decision>& text_router::decide(time_point now) {
  for (auto& [_, e] : engines_) forget_old(e, now - 4 * options_.status_age);
  empty_closed(now);
  move_evicted(now);
  place_waiting(now);
  told_.clear();
  told_.swap(decisions_);
  return told_;
}

time_point text_router::next_due() const {
  auto next = never;
  for (const auto& place : waiting_) {
    const auto& r = requests_.at(std::get<request_id>(place)).asked;
    if (!r.begun) next = std::min(next, r.due);
  }
  return next;
}

std::string text_router::migrate(request_id id, engine_id to, time_point now) {
  const auto r = requests_.find(id);
  if (r == requests_.end()) return "there is no request " + std::to_string(id.value);
  const auto e = engines_.find(to);
  const auto name = "engine " + std::to_string(to.value);
  if (e == engines_.end()) return "the model has no " + name;
  const auto& asked = r->second.asked;
  if (asked.at == to) return "it is on " + name + " already";
  if (asked.at == no_engine) return "it waits for an engine";
  if (!e->second.open()) return name + " takes no texts";
  if (!may_have(e->second, asked, number_of(asked.adapter)))
    return name + " does not have its adapter, or no room for it ever";
  if (!has_room(e->second, {asked.texts, asked.tokens})) return name + " has no room for it now";
  move(r->second, to, route_reason::asked, now);
  return {};
}

/// Where the engine's requests would go: to the fullest that stays in its bounds. Empty: they do not all fit.
std::vector<std::pair<request_id, engine_id>> text_router::plan_emptying(engine_id id) const {
  std::vector<std::pair<request_id, engine_id>> plan;
  std::map<engine_id, load> given;
  for (const auto leaving : engines_.at(id).requests) {
    const auto& asked = requests_.at(leaving).asked;
    const auto adapter = number_of(asked.adapter);
    auto best = no_engine;
    uint32_t most = 0;
    for (const auto& [other, e] : engines_) {
      if (other == id || e.texts < engines_.at(id).texts || !may_have(e, asked, adapter)) continue;
      const auto& so_far = given[other];
      if (!has_room(e, {so_far.texts + asked.texts, so_far.tokens + asked.tokens})) continue;
      if (best != no_engine && e.texts + so_far.texts < most) continue;
      best = other;
      most = e.texts + so_far.texts;
    }
    if (best == no_engine) return {};
    given[best].texts += asked.texts;
    given[best].tokens += asked.tokens;
    plan.emplace_back(leaving, best);
  }
  return plan;
}

void text_router::consolidate(time_point now) {
  if (!waiting_.empty()) return;
  auto emptiest = no_engine;
  for (const auto& [id, e] : engines_)
    if (e.open() && e.texts > 0 && (emptiest == no_engine || e.texts < engines_.at(emptiest).texts))
      emptiest = id;
  if (emptiest == no_engine) return;
  for (const auto& [id, to] : plan_emptying(emptiest))
    move(requests_.at(id), to, route_reason::consolidated, now);
}

}  // namespace troupe
