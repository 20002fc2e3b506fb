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
    : options_(std::move(o)),
      routing_(std::move(routing)),
      prefill_routing_((*routing_policies().find("prefix"))()),
      ends_(bucket, buckets) {
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
  e.forget_fresh(now - options_.status_age);
}

/// Unknown adapters get a number that no engine has.
adapter_number request_router::number_of(const std::string& adapter) const {
  if (adapter.empty()) return no_adapter;
  const auto known = numbers_.find(adapter);
  return known == numbers_.end() ? UINT32_MAX : known->second;
}

adapter_number request_router::number_for(const std::string& adapter) {
  if (adapter.empty()) return no_adapter;
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
  const auto expected = found->second.expected;
  for (const auto lost : expected) {
    auto& asked = requests_.at(lost).asked;
    found->second.expect_no_more(asked, number_for(asked.adapter));
    asked.decode_at = no_engine;
    orphans_.insert(lost);
  }
  const auto here = found->second.requests;
  for (const auto lost : here) take_from_engines(requests_.at(lost));
  const bool closed = found->second.closed, heard = found->second.heard;
  const auto phase = found->second.said.phase;
  if (index_) index_->clear(position_of(id));
  found->second = {};
  found->second.closed = closed;
  found->second.heard = heard;
  found->second.said.phase = phase;
}

bool request_router::close(engine_id id, bool closed) {
  const auto found = engines_.find(id);
  if (found == engines_.end()) return false;
  found->second.closed = closed;
  return true;
}

void request_router::on_route(const address& gateway, const route& r, time_point now) {
  if (r.all) {
    lose_gateway(gateway.node);
    began_ = never;
  }
  for (const auto& asked : r.requests) {
    const bool preempted = preempted_.contains(asked.id);
    auto awaited_at = no_engine;
    if (const auto known = requests_.find(asked.id); known != requests_.end()) {
      awaited_at = known->second.asked.decode_at;
      forget(known);
    }
    auto& fresh = requests_[asked.id] = {gateway, asked};
    fresh.asked.at = fresh.asked.decode_at = no_engine;
    if (engines_.contains(asked.at)) {
      put(fresh, {asked.at, engines_.contains(asked.decode_at) ? asked.decode_at : no_engine});
      if (asked.at == awaited_at) engines_.at(asked.at).add_fresh({now, asked.tokens, 0});
      if (preempted) preempted_.insert(asked.id);
    } else {
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

void request_router::put(request& r, choice to) {
  r.asked.at = to.to;
  r.asked.decode_at = to.decode_at;
  engines_.at(to.to).put(r.asked, number_for(r.asked.adapter));
  if (to.decode_at != no_engine) engines_.at(to.decode_at).expect(r.asked, number_for(r.asked.adapter));
}

void request_router::take_from_engines(request& r) {
  const auto at = std::exchange(r.asked.at, no_engine),
             decode_at = std::exchange(r.asked.decode_at, no_engine);
  if (at != no_engine) engines_.at(at).take(r.asked, number_for(r.asked.adapter));
  if (decode_at != no_engine) engines_.at(decode_at).expect_no_more(r.asked, number_for(r.asked.adapter));
}

void request_router::stop_waiting(const routed_request& r) {
  waiting_.erase(place_of(r));
  dues_.erase({r.due, r.id});
}

void request_router::forget(std::map<request_id, request>::iterator r) {
  take_from_engines(r->second);
  stop_waiting(r->second.asked);
  preempted_.erase(r->first);
  orphans_.erase(r->first);
  requests_.erase(r);
}

}  // namespace troupe
