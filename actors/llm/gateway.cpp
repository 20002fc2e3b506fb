#include "actors/llm/gateway.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "actors/common/planted_bug.hpp"
#include "policies/llm/prefix_hash.hpp"

namespace troupe {
namespace {

constexpr uint32_t max_engine_losses = 3;      // for one request, which may be the cause
constexpr size_t max_routed_prompt = 1 << 16;  // tokens whose blocks the router gets
constexpr uint64_t progress_tokens = 32;       // of a sequence, between two reports to the router

bool any_request(const in_flight_generation&) { return true; }

}  // namespace

llm_gateway::llm_gateway(address self, outbox& out, const options& o, completion_port& clients,
                         tenant_limiter& tenants, llm_catalog& models)
    : actor(self, out),
      options_(o),
      clients_(clients),
      catalog_(models),
      in_flight_({o.max_in_flight, o.drain_timeout}, tenants),
      models_(o.models.size()),
      nodes_(o.engines, o.routers),
      updates_(o.models.size()),
      pending_(o.engines.size()) {}

void llm_gateway::on(envelope& e, time_point now) {
  dispatch(e.body, overloaded{
                       [&](generation_request& r) {
                         for (auto& g : r.asked) accept(g, now);
                       },
                       [&](client_gone& c) { on_gone(c.id, now); },
                       [&](generated& g) { on_tokens(g, now); },
                       [&](placements& p) { on_placements(p, now); },
                       [&](handed_over& h) { on_handed_over(h, now); },
                       [&](drops& d) { on_drops(e.from, d, now); },
                       [&](completion& c) {
                         for (const auto& r : c.results)
                           if (const auto* f = in_flight_.find(r.id); f != nullptr && f->attempt == r.attempt)
                             settle(r.id, outcome::failed(r.error, r.detail), now);
                       },
                       [&](engine_status& s) {
                         const auto engine = s.engine;
                         if (catalog_.update(std::move(s)))
                           models_[nodes_.engine(engine).model.value].adapters_changed_at = now;
                       },
                       [&](adapters_known& a) {
                         catalog_.update(a);
                         if (a.all) bring_adapters(a.engine);
                       },
                       [&](change_adapter& c) { on_change_adapter(c); },
                       [&](adapter_changed& a) {
                         if (const auto s = adapters_.on_answer(engine_id{e.from.index}, a)) conclude(*s);
                       },
                       [&](node_up& n) {
                         nodes_.on_node_up(n.node, n.incarnation);
                         if (n.node == router_ || nodes_.router() != router_) resend_all_to_router();
                       },
                       [&](node_down& n) { on_node_down(n, now); },
                       [&](new_incarnation&) { begin_anew(now); },
                       [&](drain&) { in_flight_.drain(); },
                   });
}

void llm_gateway::accept(generation& g, time_point now) {
  g.gateway = self_;
  const bool served = g.model.value < models_.size() && nodes_.serves(g.model, now);
  const auto a = in_flight_.admit(g, served ? drop_reason::none : drop_reason::no_capacity, 0, now);
  in_flight_generation f;
  f.asked = std::move(g);
  if (a.refused != drop_reason::none) {
    auto how = a.refusal();
    in_flight_.settle(f, how, now);
    return clients_.ended(f.asked.id, how);
  }
  f.choices = open_choices(f.asked.choices);
  f.accepted_at = now;
  if (const auto i = f.asked.model.value; i < options_.prefix_blocks.size() && options_.prefix_blocks[i] > 0)
    f.prefix = llm::prefix_hashes(
        llm::prefix_seed(f.asked.adapter, f.asked.cache_scope),
        std::span(f.asked.prompt).first(std::min(f.asked.prompt.size(), max_routed_prompt)),
        options_.prefix_blocks[i]);
  const auto expires_at = f.asked.deadline;
  ask_router(in_flight_.add(std::move(f), expires_at));
}

void llm_gateway::on_time(time_point now) {
  const auto none = [](request_id) { return false; };
  while (const auto due = in_flight_.next_expired(now, none)) {
    cancel_in_engine(*in_flight_.find(*due));
    settle(*due, outcome::failed(failure::timeout), now);
  }
  post(now);
}

time_point llm_gateway::next_wakeup() const {
  return std::min(in_flight_.next_expiry(0), updates_.next_due());
}

void llm_gateway::on_tokens(const generated& g, time_point now) {
  for (const auto& t : g.tokens) {
    auto* const found = in_flight_.find(t.id);
    if (found == nullptr || t.attempt != found->attempt || !found->choices.open(t.choice)) {
      ++late_tokens_;
      continue;
    }
    auto& f = *found;
    auto& m = models_[f.asked.model.value];
    const auto length = f.choices.add(t.choice, t.which);
    ++m.generated_tokens;
    if (!f.started()) {
      f.first_token_at = now;
      m.first_token.add(to_seconds(now - f.asked.arrival));
      m.prompt_tokens += f.asked.prompt.size();
    } else if (f.choices.size() == 1) {
      m.between_tokens.add(to_seconds(now - f.last_token_at));
    }
    if (length == 1 && f.at != no_engine && catalog_.has_prefix_cache(f.at)) {
      m.cache_queries += f.asked.prompt.size();
      m.cache_hits += t.cached;
    }
    f.last_token_at = now;
    const bool enough = clients_.token(t);
    if (t.finish == finish_reason::none && !enough) {
      // routers use the lengths of sequences when they migrate a request
      if (length % progress_tokens == 0 && f.at != no_engine) ask_router(f);
      continue;
    }
    if (t.finish == finish_reason::none && f.at != no_engine)
      send(nodes_.address_of(f.at), end_choice{t.id, t.choice});
    if (f.choices.end(t.choice)) settle(t.id, {}, now);
  }
}

void llm_gateway::on_placements(const placements& p, time_point now) {
  for (const auto& one : p.requests) {
    auto* const f = in_flight_.find(one.id);
    if (f == nullptr || f->version != one.version) continue;
    if (!nodes_.up(one.to)) {
      updates_.ask_later(one.id, now);
      continue;
    }
    f->decode_at = one.decode_at;
    if (one.to == f->at && f->next == no_engine) continue;
    auto unused = f->at == no_engine ? kv_offer{} : pending_.withdraw(f->at, f->asked.id);
    if (unused) {
      if (one.why != route_reason::placed) ++models_[f->asked.model.value].moves;
      give(*f, one.to, std::move(*unused));
      continue;
    }
    if (f->next == no_engine) send(nodes_.address_of(f->at), hand_over{one.id, f->attempt});
    f->next = one.to;
  }
}

/// The tokens that the former engine had are here. If the next one is down by now, the router is asked again.
/// It has chosen `next`; of `decode_at` it is told that this engine has the request now.
void llm_gateway::on_handed_over(handed_over& h, time_point now) {
  auto* const f = in_flight_.find(h.id);
  const bool its = f != nullptr && f->attempt == h.attempt;
  const bool moves = its && f->next != no_engine;
  const auto to = moves ? std::exchange(f->next, no_engine) : its ? f->decode_at : no_engine;
  if (nodes_.up(to)) {
    give(*f, to, std::move(h.kv));
    if (!moves) return ask_router(*f);
    ++models_[f->asked.model.value].moves;
    return;
  }
  give_up(h.kv);
  if (!its) return;
  f->leave();
  updates_.ask_later(h.id, now);
}

/// Drops by the router are final. A request that an engine drops goes back to the router, unless its adapter
/// is gone or it is late.
void llm_gateway::on_drops(const address& from, const drops& d, time_point now) {
  for (const auto& r : d.requests) {
    auto* const f = in_flight_.find(r.id);
    if (f == nullptr) continue;
    if (from.kind == role::llm_router) {
      if (r.attempt != f->version) continue;
      cancel_in_engine(*f);
      settle(r.id, outcome::dropped(r.reason), now);
      continue;
    }
    if (r.attempt != f->attempt) continue;
    f->leave();
    if (r.reason == drop_reason::undeployed || r.reason == drop_reason::late)
      settle(r.id, outcome::dropped(r.reason), now);
    else
      updates_.ask_later(r.id, now);  // by then the router has the engine's status with the reason
  }
}

void llm_gateway::on_gone(request_id id, time_point now) {
  auto* const f = in_flight_.find(id);
  if (f == nullptr) return;
  cancel_in_engine(*f);
  settle(id, outcome::dropped(drop_reason::cancelled), now);
}

void llm_gateway::on_node_down(const node_down& n, time_point now) {
  if (!nodes_.on_node_down(n.node, n.incarnation)) return;
  for (uint32_t i = 0; i < nodes_.engine_count(); ++i)
    if (nodes_.engine(engine_id{i}).node == n.node) lose_engine(engine_id{i}, now);
  if (router_ == n.node) resend_all_to_router();
}

void llm_gateway::on_change_adapter(change_adapter& c) {
  std::set<engine_id> ready;  // an engine that loads its model gets the adapter when it is ready
  const auto engines = catalog_.engines();
  for (uint32_t i = 0; i < nodes_.engine_count(); ++i)
    if (const engine_id id{i}; nodes_.engine(id).model == c.model && nodes_.up(id) && engines[i].ready)
      ready.insert(id);
  if (ready.empty())
    return clients_.adapter_changed({c.token, adapter_answer::refused, "no engine of the model is ready"});
  for (const auto id : ready) send(nodes_.address_of(id), c);
  adapters_.begin(std::move(c), std::move(ready));
}

void llm_gateway::ask_router(in_flight_generation& f) {
  ++f.version;
  updates_.change(f.asked.model, f.routed());
}

/// Removes the requests of this gateway from the previous router and sends all of them to the current one.
void llm_gateway::resend_all_to_router() {
  const auto before = std::exchange(router_, nodes_.router());
  updates_.start_over();
  if (before != router_ && nodes_.up(before))
    for (uint32_t i = 0; i < models_.size(); ++i)
      send(on_node(before, role::llm_router, i), route{llm_id{i}, true, {}});
  for (const auto id : in_flight_.ids_where(any_request)) ask_router(*in_flight_.find(id));
}

void llm_gateway::give(in_flight_generation& f, engine_id to, kv_offer kv) {
  f.at = to;
  if (f.decode_at == to) f.decode_at = no_engine;
  auto g = f.asked;
  g.prefill_only = f.decode_at != no_engine;
  g.kv = std::move(kv);
  g.attempt = ++f.attempt;
  if (f.started()) g.progress = f.choices.progress();
  if (planted(bug::forget_token))
    for (auto& t : g.progress)
      if (!t.tokens.empty()) t.tokens.pop_back();
  pending_.add(to, std::move(g));
}

void llm_gateway::give_up(const kv_offer& o) {
  if (o.lease) send(on_node(o.lease.node, role::llm_engine, o.engine.value), release_kv{o.engine, o.lease});
}

void llm_gateway::cancel_in_engine(in_flight_generation& f) {
  if (f.at == no_engine) return;
  if (const auto unused = pending_.withdraw(f.at, f.asked.id))
    give_up(*unused);
  else
    send(nodes_.address_of(f.at), cancel{f.asked.id});
  f.leave();
}

/// Requests of a lost engine continue on another engine of the model. If none is up, all requests of the
/// model fail.
void llm_gateway::lose_engine(engine_id id, time_point now) {
  const auto model = nodes_.engine(id).model;
  if (catalog_.lose(id)) models_[model.value].adapters_changed_at = now;
  pending_.clear(id);
  for (const auto& s : adapters_.lose(id)) conclude(s);
  const bool others = nodes_.any_engine_up(model);
  for (const auto lost : in_flight_.ids_where([&](const in_flight_generation& f) { return f.at == id; })) {
    auto& f = *in_flight_.find(lost);
    f.leave();
    if (others && ++f.losses <= max_engine_losses)
      ask_router(f);
    else
      settle(lost, outcome::failed(failure::worker_lost), now);
  }
  if (others) return;
  const auto of_model = [&](const in_flight_generation& f) { return f.asked.model == model; };
  fail(in_flight_.ids_where(of_model), failure::worker_lost, now);
}

/// The peers have forgotten the requests of the former incarnation. They go on, with the tokens that they
/// have, when the router and engines are up.
void llm_gateway::begin_anew(time_point now) {
  nodes_.clear(now + options_.join_timeout);
  for (uint32_t i = 0; i < nodes_.engine_count(); ++i) {
    const engine_id id{i};
    if (catalog_.lose(id, true)) models_[nodes_.engine(id).model.value].adapters_changed_at = now;
    pending_.clear(id);
    for (const auto& s : adapters_.lose(id)) conclude(s);
  }
  for (const auto id : in_flight_.ids_where(any_request)) {
    auto& f = *in_flight_.find(id);
    f.asked.gateway = self_;
    f.leave();
  }
  resend_all_to_router();
}

/// The engine's answers are ignored: an adapter that it has already, or cannot load, stays as it is.
void llm_gateway::bring_adapters(engine_id id) {
  if (id.value >= nodes_.engine_count()) return;
  const auto model = nodes_.engine(id).model;
  for (auto& a : catalog_.lacking(id))
    if (!adapters_.unloads(model, a.name))
      send(nodes_.address_of(id), change_adapter{0, model, true, std::move(a)});
}

void llm_gateway::conclude(const adapter_changes::settled& s) {
  for (const auto id : s.undo_at) send(nodes_.address_of(id), s.undo);
  clients_.adapter_changed(s.answer);
}

void llm_gateway::settle(request_id id, outcome how, time_point now) {
  auto f = in_flight_.take(id);
  updates_.end(f.asked.model, id);
  in_flight_.settle(f, how, now);
  how.completed_at = now;
  if (how.kind == outcome_kind::finished) models_[f.asked.model.value].whole.add(to_seconds(how.latency));
  clients_.ended(id, how);
}

void llm_gateway::fail(const std::vector<request_id>& ids, failure why, time_point now) {
  for (const auto id : ids) settle(id, outcome::failed(why), now);
}

void llm_gateway::post(time_point now) {
  for (const auto id : updates_.take_due(now))
    if (auto* const f = in_flight_.find(id)) ask_router(*f);
  if (nodes_.up(router_))
    for (uint32_t i = 0; i < models_.size(); ++i) {
      const auto to = on_node(router_, role::llm_router, i);
      if (auto ended = updates_.take_ended(llm_id{i}); ended && !planted(bug::keep_route))
        send(to, std::move(*ended));
      if (auto changed = updates_.take_changed(llm_id{i})) send(to, std::move(*changed));
    }
  pending_.flush([&](engine_id to, generate g) { send(nodes_.address_of(to), std::move(g)); });
}

void llm_gateway::busy_with(std::vector<node_id>& out) const {
  for (const auto& [_, f] : in_flight_.entries()) {
    for (const auto engine : {f.at, f.next, f.decode_at}) {
      if (engine == no_engine) continue;
      if (const auto node = nodes_.engine(engine).node; std::ranges::count(out, node) == 0)
        out.push_back(node);
    }
  }
}

}  // namespace troupe
