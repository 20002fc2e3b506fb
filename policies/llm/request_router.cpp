#include "policies/llm/request_router.hpp"

#include <algorithm>
#include <utility>

#include "policies/llm/queue_turn.hpp"

namespace troupe {
namespace {

/// The rate at which requests end is measured over the last five seconds.
constexpr duration bucket = 250ms;
constexpr uint32_t buckets = 20;
constexpr duration ask_blocks_interval = 1s;  // between two questions for all cached blocks of an engine

}  // namespace

request_router::request_router(options o, std::unique_ptr<routing_policy> routing)
    : options_(std::move(o)), routing_(std::move(routing)), ends_(bucket, buckets) {
  for (const auto id : options_.engines) engines_[id];
  if (options_.by_prefix) index_.emplace(options_.engines.size());
}

void request_router::on_status(const engine_status& s, time_point now) {
  const auto found = engines_.find(s.engine);
  if (found == engines_.end()) return;
  auto& e = found->second;
  e.up = e.heard = true;
  e.said = s;
  e.said_at = now;
  forget_old(e, now - options_.status_age);
}

/// Forgets requests placed by then: the engine's status includes them.
void request_router::forget_old(engine& e, time_point then) {
  for (; !e.fresh.empty() && e.fresh.front().at <= then; e.fresh.pop_front())
    e.fresh_tokens -= e.fresh.front().tokens;
}

/// Unknown adapters get a number that no engine has.
request_router::adapter_number request_router::number_of(const std::string& adapter) const {
  if (adapter.empty()) return base_model;
  const auto known = numbers_.find(adapter);
  return known == numbers_.end() ? UINT32_MAX : known->second;
}

request_router::adapter_number request_router::number_for(const std::string& adapter) {
  if (adapter.empty()) return base_model;
  return numbers_.try_emplace(adapter, static_cast<adapter_number>(numbers_.size() + 1)).first->second;
}

void request_router::on_adapters(const adapters_known& a) {
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

/// Of a known engine.
size_t request_router::position_of(engine_id id) const {
  return static_cast<size_t>(std::ranges::lower_bound(options_.engines, id) - options_.engines.begin());
}

bool request_router::on_cached(const troupe::cached_blocks& b, time_point now) {
  const auto found = engines_.find(b.engine);
  if (found == engines_.end() || !index_) return true;
  auto& e = found->second;
  const auto at = position_of(b.engine);
  if (b.all) {
    index_->clear(at);
  } else if (e.blocks_number == 0 || b.number != e.blocks_number + 1) {
    if (e.blocks_number != 0) index_->clear(at);
    e.blocks_number = 0;
    if (now < e.asked_blocks + ask_blocks_interval) return true;
    e.asked_blocks = now;
    return false;
  }
  e.blocks_number = b.number;
  for (const auto block : b.present) index_->add(at, block);
  for (const auto block : b.gone) index_->remove(at, block);
  return true;
}

void request_router::lose_engine(engine_id id) {
  const auto found = engines_.find(id);
  if (found == engines_.end()) return;
  for (const auto lost : found->second.requests) requests_.at(lost).asked.at = no_engine;
  const bool closed = found->second.closed, heard = found->second.heard;
  if (index_) index_->clear(position_of(id));
  found->second = {};
  found->second.closed = closed;
  found->second.heard = heard;
}

bool request_router::close(engine_id id, bool closed) {
  const auto found = engines_.find(id);
  if (found == engines_.end()) return false;
  found->second.closed = closed;
  return true;
}

void request_router::on_route(const address& gateway, const route& r) {
  if (r.all) {
    lose_gateway(gateway.node);
    began_ = never;
  }
  for (const auto& asked : r.requests) {
    const bool preempted = preempted_.contains(asked.id);
    if (const auto known = requests_.find(asked.id); known != requests_.end()) forget(known);
    auto& fresh = requests_[asked.id] = {gateway, asked};
    if (engines_.contains(asked.at)) {
      put(fresh, asked.at);
      if (preempted) preempted_.insert(asked.id);
    } else {
      fresh.asked.at = no_engine;
      waiting_.insert(place_of(asked));
      newcomers_.push_back(asked.id);
      if (waits_for_first_token(asked)) dues_.emplace(asked.due, asked.id);
    }
  }
}

void request_router::on_end(request_id id, time_point now) {
  const auto known = requests_.find(id);
  if (known == requests_.end()) return;
  if (known->second.asked.at != no_engine) ends_.count(now, 1);
  forget(known);
}

void request_router::on_preempted(const sequences_preempted& e) {
  for (const auto id : e.requests)
    if (const auto r = requests_.find(id); r != requests_.end() && r->second.asked.at == e.engine)
      preempted_.insert(id);
}

void request_router::lose_gateway(node_id node) {
  for (auto r = requests_.begin(); r != requests_.end();)
    if (const auto it = r++; it->second.gateway.node == node) forget(it);
}

void request_router::clear() {
  while (!requests_.empty()) forget(requests_.begin());
  for (const auto id : options_.engines) {
    lose_engine(id);
    engines_.at(id).heard = false;
  }
  decisions_.clear();
  wants_instance_ = false;
  began_ = never;
}

request_router::sequence_load request_router::waiting_load() const {
  sequence_load out;
  for (const auto& place : waiting_) {
    const auto& asked = requests_.at(std::get<request_id>(place)).asked;
    out.sequences += asked.sequences;
    out.tokens += asked.tokens;
  }
  return out;
}

request_router::place_in_queue request_router::place_of(const routed_request& r) {
  return {r.priority, queue_turn(r.arrival, r.due, r.started), r.id};
}

void request_router::put(request& r, engine_id to) {
  auto& e = engines_.at(to);
  r.asked.at = to;
  e.requests.insert(r.asked.id);
  e.sequences += r.asked.sequences;
  const auto adapter = number_for(r.asked.adapter);
  if (adapter == base_model) return;
  const auto its = std::ranges::find(e.running, adapter, &std::pair<adapter_number, uint32_t>::first);
  if (its == e.running.end())
    e.running.emplace_back(adapter, 1);
  else
    ++its->second;
  use_slot(e, adapter);
}

/// Mirrors the engine: the least recently used adapter gives up its slot (policies/llm/adapter_slots.hpp).
void request_router::use_slot(engine& e, adapter_number adapter) {
  std::erase(e.resident, adapter);
  e.resident.push_back(adapter);
  const auto runs = [&](adapter_number a) {
    return std::ranges::count(e.running, a, &std::pair<adapter_number, uint32_t>::first) > 0;
  };
  for (auto a = e.resident.begin(); e.resident.size() > e.said.adapter_slots && a != e.resident.end();)
    a = runs(*a) ? std::next(a) : e.resident.erase(a);
}

void request_router::take_from_engine(request& r) {
  const auto found = engines_.find(r.asked.at);
  r.asked.at = no_engine;
  if (found == engines_.end()) return;
  auto& e = found->second;
  e.requests.erase(r.asked.id);
  e.sequences -= r.asked.sequences;
  const auto adapter = number_for(r.asked.adapter);
  if (adapter == base_model) return;
  const auto its = std::ranges::find(e.running, adapter, &std::pair<adapter_number, uint32_t>::first);
  if (--its->second > 0) return;
  *its = e.running.back();
  e.running.pop_back();
  use_slot(e, adapter);
}

void request_router::stop_waiting(const routed_request& r) {
  waiting_.erase(place_of(r));
  dues_.erase({r.due, r.id});
}

void request_router::forget(std::map<request_id, request>::iterator r) {
  take_from_engine(r->second);
  stop_waiting(r->second.asked);
  preempted_.erase(r->first);
  requests_.erase(r);
}

}  // namespace troupe
