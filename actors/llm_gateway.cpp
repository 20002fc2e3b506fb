#include "actors/llm_gateway.hpp"

#include <algorithm>
#include <utility>

#include "actors/ids_where.hpp"

namespace troupe {

llm_gateway::llm_gateway(address self, outbox& out, const options& o, completion_port& clients,
                         tenant_desk& tenants, llm_catalog& models)
    : shell(self, out),
      options_(o),
      clients_(clients),
      tenants_(tenants),
      catalog_(models),
      models_(o.models.size()) {}

void llm_gateway::on(envelope& e, time_point now) {
  dispatch(e.body, overloaded{
                       [&](generation_request& r) {
                         for (auto& g : r.asked) accept(g, now);
                       },
                       [&](client_gone& c) { on_gone(c.id, now); },
                       [&](generated& g) { on_tokens(g, now); },
                       [&](drops& d) {
                         for (const auto& r : d.requests)
                           if (const auto f = flights_.find(r.id); f != flights_.end())
                             settle(f, outcome::dropped(r.reason), now);
                       },
                       [&](completion& c) {
                         for (const auto& r : c.results)
                           if (const auto f = flights_.find(r.id); f != flights_.end())
                             settle(f, outcome::failed(r.error, r.detail), now);
                       },
                       [&](engine_status& s) { catalog_.update(std::move(s)); },
                       [&](adapters_known& a) { catalog_.update(a); },
                       [&](change_adapter& c) { change(c); },
                       [&](adapter_changed& a) {
                         if (changes_.erase(a.token) > 0) clients_.adapter_changed(a);
                       },
                       [&](node_up& n) { engines_up_[n.node] = n.life; },
                       [&](node_down& n) {
                         if (const auto up = engines_up_.find(n.node);
                             up == engines_up_.end() || up->second != n.life)
                           return;
                         engines_up_.erase(n.node);
                         for (uint32_t i = 0; i < models_.size(); ++i)
                           if (options_.models[i].engine == n.node)
                             lose_engine(llm_id{i}, failure::worker_lost, now);
                       },
                       [&](reborn& r) {
                         self_.life = r.life;
                         engines_up_.clear();
                         for (uint32_t i = 0; i < models_.size(); ++i)
                           lose_engine(llm_id{i}, failure::node_fenced, now);
                       },
                       [&](drain&) { draining_ = true; },
                   });
}

void llm_gateway::accept(generation& g, time_point now) {
  g.gateway = self_;
  ledger_.accept(model_id{g.model.value});
  if (draining_) return refuse(g, drop_reason::draining, now, options_.drain_timeout);
  if (g.model.value >= models_.size() || !engines_up_.contains(options_.models[g.model.value].engine))
    return refuse(g, drop_reason::no_capacity, now);
  if (flights_.size() >= options_.max_in_flight) return refuse(g, drop_reason::queue_full, now);
  if (const auto asked = tenants_.admit(g.tenant, now); !asked.admitted)
    return refuse(g, drop_reason::quota, now, asked.retry_after,
                  asked.over_concurrency ? "concurrency" : "rate");
  flight f;
  f.model = g.model;
  f.tenant = g.tenant;
  f.open.assign(g.choices, true);
  f.open_count = g.choices;
  f.prompt_tokens = g.prompt.size();
  f.arrival = g.arrival;
  f.deadline = g.deadline;
  f.accepted_at = now;
  expiries_.add(g.deadline, g.id);
  flights_.emplace(g.id, std::move(f));
  models_[g.model.value].next.requests.push_back(std::move(g));
}

void llm_gateway::change(change_adapter& c) {
  if (!engines_up_.contains(options_.models[c.model.value].engine))
    return clients_.adapter_changed({c.token, adapter_answer::refused, "the engine is gone"});
  changes_.emplace(c.token, c.model);
  send(engine_of(c.model), std::move(c));
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
  const auto waits = [this](request_id id) { return flights_.contains(id); };
  while (const auto due = expiries_.pop(now, waits)) {
    const auto f = flights_.find(*due);
    cancel_in_engine(*due, f->second);
    settle(f, outcome::failed(failure::timeout), now);
  }
  for (uint32_t i = 0; i < models_.size(); ++i)
    if (!models_[i].next.requests.empty()) send(engine_of(llm_id{i}), std::exchange(models_[i].next, {}));
}

void llm_gateway::on_tokens(const generated& g, time_point now) {
  for (const auto& t : g.tokens) {
    const auto found = flights_.find(t.id);
    if (found == flights_.end() || t.choice >= found->second.open.size() || !found->second.open[t.choice]) {
      ++late_tokens_;
      continue;
    }
    auto& f = found->second;
    auto& m = models_[f.model.value];
    ++f.tokens;
    ++m.generated_tokens;
    if (f.first_token_at == never) {
      f.first_token_at = now;
      m.first_token.add(to_seconds(now - f.arrival));
      m.prompt_tokens += f.prompt_tokens;
    } else if (f.open.size() == 1) {
      m.between_tokens.add(to_seconds(now - f.last_token_at));
    }
    f.last_token_at = now;
    const bool enough = clients_.token(t);
    if (t.finish == finish_reason::none && !enough) continue;
    if (t.finish == finish_reason::none) send(engine_of(f.model), end_choice{t.id, t.choice});
    f.open[t.choice] = false;
    if (--f.open_count == 0) settle(found, {}, now);
  }
}

/// Or it has not been sent yet.
void llm_gateway::cancel_in_engine(request_id id, const flight& f) {
  auto& next = models_[f.model.value].next.requests;
  if (std::erase_if(next, [&](const generation& g) { return g.id == id; }) == 0)
    send(engine_of(f.model), cancel{id});
}

void llm_gateway::on_gone(request_id id, time_point now) {
  const auto f = flights_.find(id);
  if (f == flights_.end()) return;
  cancel_in_engine(id, f->second);
  settle(f, outcome::dropped(drop_reason::cancelled), now);
}

void llm_gateway::lose_engine(llm_id model, failure why, time_point now) {
  catalog_.lose(model);
  models_[model.value].next = {};
  std::erase_if(changes_, [&](const auto& c) {
    if (c.second != model) return false;
    clients_.adapter_changed({c.first, adapter_answer::refused, "the engine is gone"});
    return true;
  });
  for (const auto id : ids_where(flights_, [&](const flight& f) { return f.model == model; }))
    settle(flights_.find(id), outcome::failed(why), now);
}

void llm_gateway::settle(flights::iterator at, outcome how, time_point now) {
  const auto id = at->first;
  const auto f = std::move(at->second);
  flights_.erase(at);
  tenants_.leave(f.tenant);
  how.arrival = f.arrival;
  how.latency = now - f.arrival;
  how.accepted_at = f.accepted_at;
  how.completed_at = now;
  const model_id model{f.model.value};
  switch (how.kind) {
    case outcome::fate::finished:
      ledger_.finish(model);
      models_[f.model.value].whole.add(to_seconds(how.latency));
      break;
    case outcome::fate::dropped: ledger_.drop(model, how.reason); break;
    case outcome::fate::failed: ledger_.fail(model, how.error); break;
  }
  clients_.ended(id, how);
}

void llm_gateway::busy_with(std::vector<node_id>& out) const {
  for (const auto& [_, f] : flights_)
    if (const auto node = options_.models[f.model.value].engine; std::ranges::count(out, node) == 0)
      out.push_back(node);
}

}  // namespace troupe
