// Where the requests of a gateway are: what it tells its router, and what it does with what the router says.
#include <algorithm>
#include <utility>

#include "actors/common/planted_bug.hpp"
#include "actors/llm/gateway.hpp"
#include "actors/llm/ids_where.hpp"

namespace troupe {
namespace {

constexpr size_t max_tokens_per_message = 1u << 20;  // in one message to an engine: frames are bounded
constexpr uint32_t max_engine_losses = 3;            // of engines with one request: it may be what kills them
constexpr uint64_t progress_tokens = 32;             // of a sequence; then its router is told
constexpr duration between_questions = 50ms;         // about a request that the router sends to a dead engine

}  // namespace

/// Where it is, and how long its sequences have become: routers make room for that when they move it.
void llm_gateway::send_progress(request_id id, in_flight_request& f, uint64_t tokens) {
  if (tokens % progress_tokens == 0 && f.at != no_engine) ask_router(id, f);
}

/// Of a request that is nowhere, or elsewhere than the router thinks.
void llm_gateway::ask_router(request_id id, in_flight_request& f) {
  ++f.version;
  models_[f.asked.model.value].next.requests.push_back(routed(id, f));
}

routed_request llm_gateway::routed(request_id id, const in_flight_request& f) const {
  routed_request r;
  r.id = id;
  r.version = f.version;
  r.adapter = f.asked.adapter;
  r.sequences = f.open;
  for (const auto& t : f.sequences)
    if (t.open) r.tokens += f.asked.prompt.size() + t.tokens.size();
  r.arrival = f.asked.arrival;
  r.priority = f.asked.priority;
  r.due = f.asked.due;
  r.tpot = f.asked.tpot;
  r.started = f.started();
  r.at = f.at;
  return r;
}

void llm_gateway::on_placements(const placements& p, time_point now) {
  for (const auto& one : p.requests) {
    const auto found = in_flight_.find(one.id);
    if (found == in_flight_.end() || found->second.version != one.version) continue;
    auto& f = found->second;
    if (one.to.value >= options_.engines.size() || !is_up(one.to)) {
      unplaced_.push_back(one.id);
      retry_at_ = std::min(retry_at_, now + between_questions);
      continue;
    }
    if (one.why != route_reason::placed) ++models_[f.asked.model.value].moves;
    cancel_in_engine(one.id, f);
    give(f, one.to);
  }
}

/// With what its client has seen: its engine goes on from there.
void llm_gateway::give(in_flight_request& f, engine_id to) {
  f.at = to;
  auto g = f.asked;
  g.attempt = ++f.attempt;
  for (uint32_t i = 0; f.started() && i < f.sequences.size(); ++i)
    if (f.sequences[i].open) g.progress.push_back({i, f.sequences[i].tokens});
  if (planted(bug::forget_token))
    for (auto& t : g.progress)
      if (!t.tokens.empty()) t.tokens.pop_back();
  next_[to.value].requests.push_back(std::move(g));
}

/// A router drops what it has no place for; what an engine does not take another may.
void llm_gateway::on_drops(const address& from, const drops& d, time_point now) {
  for (const auto& r : d.requests) {
    const auto found = in_flight_.find(r.id);
    if (found == in_flight_.end()) continue;
    auto& f = found->second;
    if (from.kind == role::llm_router) {
      if (r.attempt != f.version) continue;
      cancel_in_engine(r.id, f);
      settle(found, outcome::dropped(r.reason), now);
      continue;
    }
    if (r.attempt != f.attempt) continue;
    f.at = no_engine;
    if (r.reason == drop_reason::undeployed || r.reason == drop_reason::late) {
      settle(found, outcome::dropped(r.reason), now);
      continue;
    }
    // the router may not know yet why: it is told as soon as the engine's status is
    unplaced_.push_back(r.id);
    retry_at_ = std::min(retry_at_, now + between_questions);
  }
}

void llm_gateway::on_node_up(const node_up& n) {
  nodes_up_[n.node] = n.incarnation;
  if (n.node == router_ || router() != router_) resend_all_to_router();
}

/// The first that is up of those who may be asked.
node_id llm_gateway::router() const {
  const auto up = std::ranges::find_if(options_.routers, [this](node_id n) { return nodes_up_.contains(n); });
  return up == options_.routers.end() ? node_id{UINT32_MAX} : *up;
}

/// Who was asked before forgets us; who is asked from now on learns everything.
void llm_gateway::resend_all_to_router() {
  const auto before = std::exchange(router_, router());
  for (uint32_t i = 0; i < models_.size(); ++i) {
    models_[i].next.requests.clear();
    models_[i].next.all = true;
    models_[i].ended.requests.clear();
    if (before != router_ && nodes_up_.contains(before))
      send(on_node(before, role::llm_router, i), route{llm_id{i}, true, {}});
  }
  for (const auto id : ids_where(in_flight_, [](const in_flight_request&) { return true; }))
    ask_router(id, in_flight_.at(id));
  unplaced_.clear();
  retry_at_ = never;
}

void llm_gateway::on_node_down(const node_down& n, time_point now) {
  if (const auto up = nodes_up_.find(n.node); up == nodes_up_.end() || up->second != n.incarnation) return;
  nodes_up_.erase(n.node);
  for (uint32_t i = 0; i < options_.engines.size(); ++i)
    if (options_.engines[i].node == n.node) lose_engine(engine_id{i}, now);
  if (router_ == n.node) resend_all_to_router();
}

bool llm_gateway::any_engine_up(llm_id model) const {
  return std::ranges::any_of(
      options_.engines, [&](const engine_spec& e) { return e.model == model && nodes_up_.contains(e.node); });
}

/// Its requests go on elsewhere, if there is another.
void llm_gateway::lose_engine(engine_id id, time_point now) {
  catalog_.lose(id);
  next_[id.value].requests.clear();
  for (auto c = changes_.begin(); c != changes_.end();) {
    const auto it = c++;
    if (it->second.awaited.contains(id))
      note(it, id, {it->first, adapter_answer::refused, "the engine is gone"});
  }
  const auto model = options_.engines[id.value].model;
  const bool others = any_engine_up(model);
  for (const auto lost : ids_where(in_flight_, [&](const in_flight_request& f) { return f.at == id; })) {
    const auto found = in_flight_.find(lost);
    auto& f = found->second;
    f.at = no_engine;
    if (others && ++f.losses <= max_engine_losses)
      ask_router(lost, f);
    else
      settle(found, outcome::failed(failure::worker_lost), now);
  }
  if (others) return;
  for (const auto lost :
       ids_where(in_flight_, [&](const in_flight_request& f) { return f.asked.model == model; }))
    settle(in_flight_.find(lost), outcome::failed(failure::worker_lost), now);
}

void llm_gateway::post(time_point now) {
  if (retry_at_ <= now) {
    retry_at_ = never;
    for (const auto id : std::exchange(unplaced_, {}))
      if (const auto f = in_flight_.find(id); f != in_flight_.end()) ask_router(id, f->second);
  }
  for (uint32_t i = 0; i < models_.size(); ++i) {
    auto& m = models_[i];
    m.next.model = m.ended.model = llm_id{i};
    if (!nodes_up_.contains(router_)) continue;
    const auto to = on_node(router_, role::llm_router, i);
    if (!m.ended.requests.empty() && !planted(bug::keep_route)) send(to, std::exchange(m.ended, {}));
    if (!m.next.requests.empty() || m.next.all) send(to, std::exchange(m.next, {}));
  }
  for (uint32_t i = 0; i < next_.size(); ++i) send_to_engine(engine_id{i}, std::exchange(next_[i], {}));
}

void llm_gateway::send_to_engine(engine_id to, generate all) {
  generate part;
  size_t tokens = 0;
  for (auto& g : all.requests) {
    auto more = g.prompt.size();
    for (const auto& t : g.progress) more += t.tokens.size();
    if (!part.requests.empty() && tokens + more > max_tokens_per_message) {
      send(address_of(to), std::exchange(part, {}));
      tokens = 0;
    }
    tokens += more;
    part.requests.push_back(std::move(g));
  }
  if (!part.requests.empty()) send(address_of(to), std::move(part));
}

}  // namespace troupe
