#include "actors/llm/gateway.hpp"

#include <algorithm>
#include <utility>

#include "actors/common/planted_bug.hpp"
#include "actors/llm/ids_where.hpp"

namespace troupe {

llm_gateway::llm_gateway(address self, outbox& out, const options& o, completion_port& clients,
                         tenant_limiter& tenants, llm_catalog& models)
    : actor(self, out),
      options_(o),
      clients_(clients),
      tenants_(tenants),
      catalog_(models),
      models_(o.models.size()),
      next_(o.engines.size()) {}

void llm_gateway::on(envelope& e, time_point now) {
  dispatch(e.body, overloaded{
                       [&](generation_request& r) {
                         for (auto& g : r.asked) accept(g, now);
                       },
                       [&](client_gone& c) { on_gone(c.id, now); },
                       [&](generated& g) { on_tokens(g, now); },
                       [&](placements& p) { on_placements(p, now); },
                       [&](drops& d) { on_drops(e.from, d, now); },
                       [&](completion& c) {
                         for (const auto& r : c.results)
                           if (const auto f = in_flight_.find(r.id);
                               f != in_flight_.end() && f->second.attempt == r.attempt)
                             settle(f, outcome::failed(r.error, r.detail), now);
                       },
                       [&](engine_status& s) { catalog_.update(std::move(s)); },
                       [&](adapters_known& a) {
                         catalog_.update(a);
                         if (a.all) complete(a.engine);
                       },
                       [&](change_adapter& c) { begin(c); },
                       [&](adapter_changed& a) { on_answer(engine_id{e.from.index}, a); },
                       [&](node_up& n) { on_node_up(n); },
                       [&](node_down& n) { on_node_down(n, now); },
                       [&](new_incarnation&) {
                         settle_all(failure::node_fenced, now);
                         nodes_up_.clear();
                         for (uint32_t i = 0; i < options_.engines.size(); ++i)
                           lose_engine(engine_id{i}, now);
                         resend_all_to_router();
                       },
                       [&](drain&) { draining_ = true; },
                   });
}

void llm_gateway::accept(generation& g, time_point now) {
  g.gateway = self_;
  ledger_.accept(model_id{g.model.value});
  if (draining_) return refuse(g, drop_reason::draining, now, options_.drain_timeout);
  if (g.model.value >= models_.size() || !any_engine_up(g.model) || !nodes_up_.contains(router_))
    return refuse(g, drop_reason::no_capacity, now);
  if (in_flight_.size() >= options_.max_in_flight) return refuse(g, drop_reason::queue_full, now);
  if (const auto asked = tenants_.admit(g.tenant, now); !asked.admitted)
    return refuse(g, drop_reason::quota, now, asked.retry_after,
                  asked.over_concurrency ? "concurrency" : "rate");
  expiries_.add(g.deadline, g.id);
  const auto id = g.id;
  in_flight_request f;
  f.open = g.choices;
  f.sequences.resize(g.choices);
  f.accepted_at = now;
  f.asked = std::move(g);
  ask_router(id, in_flight_.emplace(id, std::move(f)).first->second);
}

/// It never was in the table.
void llm_gateway::refuse(const generation& g, drop_reason why, time_point now, duration retry_after,
                         std::string_view detail) {
  ledger_.drop(model_id{g.model.value}, why);
  auto how = outcome::dropped(why);
  how.arrival = g.arrival;
  how.latency = now - g.arrival;
  how.detail = detail;
  how.retry_after = retry_after;
  clients_.ended(g.id, how);
}

void llm_gateway::on_time(time_point now) {
  const auto waits = [this](request_id id) { return in_flight_.contains(id); };
  while (const auto due = expiries_.pop(now, waits)) {
    const auto f = in_flight_.find(*due);
    cancel_in_engine(*due, f->second);
    settle(f, outcome::failed(failure::timeout), now);
  }
  post(now);
}

time_point llm_gateway::next_wakeup() const { return std::min(expiries_.next(), retry_at_); }

void llm_gateway::on_tokens(const generated& g, time_point now) {
  for (const auto& t : g.tokens) {
    const auto found = in_flight_.find(t.id);
    if (found == in_flight_.end() || (t.attempt != found->second.attempt && !planted(bug::old_engine)) ||
        t.choice >= found->second.sequences.size() || !found->second.sequences[t.choice].open) {
      ++late_tokens_;
      continue;
    }
    auto& f = found->second;
    auto& m = models_[f.asked.model.value];
    auto& choice = f.sequences[t.choice];
    choice.tokens.push_back(t.which);
    ++m.generated_tokens;
    if (!f.started()) {
      f.first_token_at = now;
      m.first_token.add(to_seconds(now - f.asked.arrival));
      m.prompt_tokens += f.asked.prompt.size();
    } else if (f.sequences.size() == 1) {
      m.between_tokens.add(to_seconds(now - f.last_token_at));
    }
    f.last_token_at = now;
    const bool enough = clients_.token(t);
    if (t.finish == finish_reason::none && !enough) {
      send_progress(t.id, f, choice.tokens.size());
      continue;
    }
    if (t.finish == finish_reason::none && f.at != no_engine)
      send(address_of(f.at), end_choice{t.id, t.choice});
    choice = {false, {}};
    if (--f.open == 0) settle(found, {}, now);
  }
}

/// Or it has not been sent yet.
void llm_gateway::cancel_in_engine(request_id id, in_flight_request& f) {
  if (f.at == no_engine) return;
  auto& next = next_[f.at.value].requests;
  if (std::erase_if(next, [&](const generation& g) { return g.id == id; }) == 0)
    send(address_of(f.at), cancel{id});
  f.at = no_engine;
}

void llm_gateway::on_gone(request_id id, time_point now) {
  const auto f = in_flight_.find(id);
  if (f == in_flight_.end()) return;
  cancel_in_engine(id, f->second);
  settle(f, outcome::dropped(drop_reason::cancelled), now);
}

void llm_gateway::settle_all(failure why, time_point now) {
  for (const auto id : ids_where(in_flight_, [](const in_flight_request&) { return true; }))
    settle(in_flight_.find(id), outcome::failed(why), now);
}

void llm_gateway::settle(in_flight_table::iterator at, outcome how, time_point now) {
  const auto id = at->first;
  const auto f = std::move(at->second);
  in_flight_.erase(at);
  auto& m = models_[f.asked.model.value];
  // what its router has not heard of it need not hear
  std::erase_if(m.next.requests, [&](const routed_request& r) { return r.id == id; });
  m.ended.requests.push_back(id);
  tenants_.leave(f.asked.tenant);
  how.arrival = f.asked.arrival;
  how.latency = now - f.asked.arrival;
  how.accepted_at = f.accepted_at;
  how.completed_at = now;
  const model_id model{f.asked.model.value};
  switch (how.kind) {
    case outcome_kind::finished:
      ledger_.finish(model);
      m.whole.add(to_seconds(how.latency));
      break;
    case outcome_kind::dropped: ledger_.drop(model, how.reason); break;
    case outcome_kind::failed: ledger_.fail(model, how.error); break;
  }
  clients_.ended(id, how);
}

void llm_gateway::busy_with(std::vector<node_id>& out) const {
  for (const auto& [_, f] : in_flight_) {
    if (f.at == no_engine) continue;
    if (const auto node = options_.engines[f.at.value].node; std::ranges::count(out, node) == 0)
      out.push_back(node);
  }
}

}  // namespace troupe
