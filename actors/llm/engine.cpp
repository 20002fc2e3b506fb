#include "actors/llm/engine.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "actors/common/planted_bug.hpp"
#include "policies/llm/generation_check.hpp"
#include "policies/llm/prefix_hash.hpp"

namespace troupe {
namespace {

/// The step for the device, with an error if a bug is planted. `room` holds the wrong step.
const llm::llm_step& as_planted(const llm::llm_step& step, llm::llm_step& room) {
  if (planted(bug::mixed_pages)) {
    room = step;
    room.blocks.front() = room.blocks.back();
    return room;
  }
  if (planted(bug::wrong_row)) {
    room = step;
    const auto last = std::ranges::find_if(room.tokens.rbegin(), room.tokens.rend(), llm::is_chosen_before);
    for (auto& t : room.tokens)
      if (llm::is_chosen_before(t)) t = *last;
    return room;
  }
  return step;
}

/// Prompt tokens of the first step in flight.
uint32_t prompt_rows(const llm::step_scheduler& s) { return s.step().rows() - s.decodes_of_step(); }

}  // namespace

llm_engine::llm_engine(address self, outbox& out, const options& o, llm::engine_device& device,
                       memory_port& memory)
    : actor(self, out),
      options_(o),
      device_(device),
      lifecycle_(o.scales),
      phase_(o.phase),
      facts_(device.expected()),
      adapters_(o.adapter_slots, o.adapters),
      updates_(o.status_interval),
      blocks_(o.status_interval),
      handovers_(self, o.engine, memory) {}

void llm_engine::on(envelope& e, time_point now) {
  now_ = now;
  dispatch(e.body,
           overloaded{
               [&](generate& g) {
                 for (auto& r : g.requests)
                   if (!accept(r)) handovers_.refused(std::move(r.kv));
               },
               [&](cancel& c) {
                 if (!planted(bug::deaf_engine)) cancel_request(c.id);
                 release(handovers_.leases().end(c.id));
               },
               [&](end_choice& c) {
                 if (!batch_) return;
                 if (const auto adapter = batch_->end_choice(c.id, c.choice)) on_request_end(c.id, *adapter);
                 leave_if_prefilled(c.id);
               },
               [&](hand_over& h) {
                 const auto* known = batch_ ? batch_->find(h.id) : nullptr;
                 const bool stops = known != nullptr && known->attempt == h.attempt;
                 if (stops && !planted(bug::double_home)) batch_->stop(h.id);
                 handovers_.order(e.from, h);
               },
               [&](release_kv& r) {
                 if (r.engine == options_.engine) release(handovers_.leases().end(r.lease));
               },
               [&](pulled& p) {
                 if (batch_ && handovers_.end_pull(p, loaded())) on_change();
               },
               [&](want_cached_blocks&) { blocks_.tell_all(); },
               [&](change_adapter& c) { carry_out(adapters_.change(e.from, c, batch_.has_value(), now)); },
               [&](device_ready&) {
                 while (device_.poll(now, event_)) on_event(event_, now);
               },
               [&](node_up& n) { on_node_up(n); },
               [&](node_down& n) {
                 nodes_up_.remove(n);
                 if (!batch_) return;
                 for (const auto id : batch_->of_gateway(n.node, n.incarnation)) cancel_request(id);
               },
               [&](new_incarnation&) {
                 if (batch_)
                   for (const auto id : batch_->all()) cancel_request(id);
                 release(handovers_.leases().end_all());
                 handovers_.forget_orders();
                 nodes_up_.clear();
                 answers_.clear();
               },
               [&](leadership& l) { term_ = std::max(term_, l.term); },
               [&](set_stage& s) {
                 if (s.engine != options_.engine || s.term < term_) return;
                 if (planted(bug::zombie_engine) && s.to != instance_stage::serving) return;
                 term_ = s.term;
                 lifecycle_.order(s.to);
                 change_stage();
               },
               [&](set_phase& s) {
                 if (s.engine != options_.engine || s.term < term_) return;
                 term_ = s.term;
                 phase_ = s.to;
                 updates_.on_urgent_change();
               },
               [&](drain&) {
                 draining_ = true;
                 updates_.on_urgent_change();  // routers then migrate its requests
               },
           });
}

void llm_engine::on_time(time_point now) {
  now_ = now;
  const bool overdue = now >= stalled_at();
  while ((overdue || device_.poll_at() <= now) && device_.poll(now, event_)) on_event(event_, now);
  if (now >= stalled_at())
    throw std::runtime_error(options_.name + ": its device is lost: a step has not ended within " +
                             std::to_string(facts_.longest_step / 1s) + " s");
  exchange_adapters(now);
  hand_over_stopped(now);
  begin_steps(now);
  change_stage();
  flush_answers();
  for (auto& o : handovers_.pulls().take_unused())
    send(on_node(o.lease.node, role::llm_engine, o.engine.value), release_kv{o.engine, o.lease});
  send_status(now);
  tell_cached(now);
}

time_point llm_engine::next_wakeup() const {
  const auto prompts = can_start() ? batch_->scheduler().begins_at() : never;
  return std::min({device_.poll_at(), updates_.due_at(), options_.tells_cached ? blocks_.due_at() : never,
                   prompts, stalled_at(), handovers_.leases().next_expiry()});
}

void llm_engine::on_node_up(const node_up& n) {
  if (std::ranges::count(options_.gateways, n.node) == 0 && std::ranges::count(options_.routers, n.node) == 0)
    return;
  nodes_up_.add(n);
  broadcast(adapters_known{options_.model, options_.engine, true, adapters_.all(), {}});
  updates_.on_new_peer();
  if (std::ranges::count(options_.routers, n.node) > 0) blocks_.tell_all();
}

bool llm_engine::accept(generation& g) {
  const auto drop = [&](drop_reason why) {
    answers_.add(g.gateway, dropped_request{g.id, g.attempt, why});
    return false;
  };
  const auto refuse = [&](std::string why) {
    answers_.add(g.gateway, result{g.id, g.attempt, failure::device_error, {}, std::move(why)});
    return false;
  };
  const auto stage = lifecycle_.stage();
  if (draining_ || stage == instance_stage::draining || stage == instance_stage::parked)
    return drop(drop_reason::draining);
  if (!batch_) return problem_.empty() ? drop(drop_reason::no_capacity) : refuse(problem_);
  const auto* adapter = g.adapter.empty() ? nullptr : adapters_.find(g.adapter);
  if (!g.adapter.empty() && adapter == nullptr) return drop(drop_reason::undeployed);
  if (auto wrong = llm::problem_with(g, {facts_.vocabulary, facts_.max_positions, options_.adapter_slots}))
    return refuse(std::move(*wrong));
  if (batch_->find(g.id) != nullptr) return refuse("the engine has this request already");
  if (batch_->scheduler().waiting() + llm::sequences_of(g) > options_.max_waiting)
    return drop(drop_reason::queue_full);
  const auto id = adapter == nullptr ? llm::base_model : adapter->id;
  release(handovers_.take_back(g.kv, loaded(), options_.prefix_cache));
  engine_handovers::drop_unusable_parts(g, loaded());
  const bool mixes = planted(bug::wrong_adapter_block);
  if (!batch_->add(g, id,
                   {mixes ? llm::base_model : id, g.cache_scope, llm::prefix_seed(g.adapter, g.cache_scope)}))
    return refuse("prompt and answer do not fit into the KV cache");
  prompt_tokens_ += g.prompt.size();
  if (adapter != nullptr) adapters_.begin_request(adapter->id);
  handovers_.accepted(g.id, std::move(g.kv));
  on_change();
  return true;
}

void llm_engine::cancel_request(request_id id) {
  if (!batch_) return;
  if (const auto adapter = batch_->cancel(id)) on_request_end(id, *adapter);
}

void llm_engine::on_request_end(request_id id, llm::adapter_id adapter) {
  on_change();
  handovers_.pulls().forget(id);
  if (adapter == llm::base_model) return;
  if (auto answer = adapters_.end_request(adapter, now_)) send(answer->to, std::move(answer->says));
}

void llm_engine::fail(const std::vector<request_id>& ids, failure why, const std::string& detail) {
  for (const auto id : ids) {
    const auto* f = batch_->find(id);
    answers_.add(f->gateway, result{id, f->attempt, why, {}, detail});
    cancel_request(id);
  }
}

void llm_engine::on_event(llm::engine_event& e, time_point now) {
  using kind = llm::engine_event::kind;
  switch (e.what) {
    case kind::layers_ready:
      if (planted(bug::half_loaded) && !batch_) return on_loaded(e.facts);
      facts_ = e.facts;
      return;
    case kind::loaded:
      if (planted(bug::half_loaded) && batch_) return;
      return on_loaded(e.facts);
    case kind::unusable:
      problem_ = e.problem;
      if (options_.on_unusable) options_.on_unusable(options_.name + ": " + problem_, e.transient);
      return updates_.on_change();
    case kind::lost:  // the process is restarted (supervision.hpp); its requests continue elsewhere
      throw std::runtime_error(options_.name + ": its device is lost: " + e.problem);
    case kind::step_done: return on_step(e, now);
    case kind::step_failed:
      on_change();
      release(handovers_.leases().end_all());
      return fail(batch_->fail_steps(), failure::device_error, e.problem);
    case kind::adapter_read: return carry_out(adapters_.on_read(e.adapter, e.problem));
    case kind::adapter_ready:
      on_change();
      batch_->scheduler().drop_cached(e.adapter);  // its files may have changed since it was here
      if (adapters_.on_loaded({e.adapter, e.took, e.bytes, e.from_disk}, now))
        batch_->scheduler().adapter_loaded(e.adapter);
      return;
    case kind::adapter_failed:  // tenants see only the name; operators can query the problem
      if (const auto* adapter = adapters_.on_failed(e.adapter, e.problem))
        fail(batch_->with_adapter(e.adapter), failure::adapter_unusable,
             "adapter '" + adapter->what.name + "' cannot be loaded");
      return;
  }
}

void llm_engine::on_loaded(const llm::engine_facts& facts) {
  facts_ = facts;
  clock_.set_longest(facts.longest_step);
  llm::scheduler_limits limits;
  limits.max_sequences = options_.max_sequences;
  limits.prefill_chunk = options_.prefill_chunk;
  limits.mix_adapters = options_.mix_adapters;
  limits.prefix_cache = options_.prefix_cache;
  limits.tells_cached = options_.tells_cached;
  limits.planted = {planted(bug::stale_block), planted(bug::freed_in_use)};
  limits.max_waiting = options_.max_waiting;
  limits.blocks = facts.blocks;
  limits.block_tokens = facts.block_tokens;
  batch_.emplace(limits, (*llm::prefill_timings().find(options_.prefill))());
  lifecycle_.on_loaded();
  updates_.on_urgent_change();
  // gateways now send the adapters that this engine lacks
  broadcast(adapters_known{options_.model, options_.engine, true, adapters_.all(), {}});
}

/// Steps and adapters that are being read delay the end of a model.
void llm_engine::change_stage() {
  const bool empty = !batch_ || (batch_->scheduler().idle() && batch_->scheduler().under_way() == 0 &&
                                 handovers_.leases().size() == 0);
  const auto before = lifecycle_.stage();
  switch (lifecycle_.advance(empty && !adapters_.is_reading())) {
    case instance_lifecycle::action::none: break;
    case instance_lifecycle::action::load:
      problem_.clear();
      device_.load();
      break;
    case instance_lifecycle::action::unload:
      batch_.reset();
      blocks_.tell_all();  // none
      adapters_.lose_device();
      device_.unload();
      facts_.layers_ready = 0;
      break;
  }
  if (lifecycle_.stage() != before) updates_.on_urgent_change();  // routers then move its requests
}

void llm_engine::on_step(const llm::engine_event& e, time_point now) {
  on_change();
  clock_.end(now, batch_->scheduler().decodes_of_step(), prompt_rows(batch_->scheduler()), e.took);
  computed_tokens_ += batch_->scheduler().step().rows();
  for (const auto& got : batch_->done(e.chosen)) {
    if (got.chosen == nullptr) {
      answers_.add(
          got.gateway,
          result{got.id, got.attempt, failure::device_error, {}, "the model returned no usable logits"});
    } else {
      ++generated_tokens_;
      answers_.add(got.gateway,
                   generated_token{got.id, got.attempt, got.choice, got.chosen->which, got.chosen->logprob,
                                   got.chosen->top, got.finish, got.cached});
    }
    if (got.last) on_request_end(got.id, got.adapter);
    leave_if_prefilled(got.id);
  }
}

/// Another engine goes on with it: its gateway knows which.
void llm_engine::leave_if_prefilled(request_id id) {
  if (!batch_->has_prefilled(id)) return;
  const auto* f = batch_->find(id);
  handovers_.order(f->gateway, {id, f->attempt});
}

void llm_engine::begin_steps(time_point now) {
  while (can_start()) {
    const auto& scheduler = batch_->scheduler();
    const bool ahead = scheduler.under_way() > 0;
    const auto begins =
        ahead ? clock_.ends_at(now, scheduler.decodes_of_step(), prompt_rows(scheduler)) : now;
    const auto& step = batch_->plan(clock_.context(begins));
    handovers_.begin_pulls(loaded());
    report_preempted();
    for (const auto id : batch_->late())
      if (const auto* f = batch_->find(id)) {
        answers_.add(f->gateway, dropped_request{id, f->attempt, drop_reason::late});
        cancel_request(id);
      }
    if (step.rows() == 0) return;
    if (!ahead) clock_.begin(now);
    llm::llm_step room;
    device_.start(as_planted(step, room), batch_->samplings());
  }
}

/// Gives stopped requests to their gateways once no step under way contains them. Their last tokens go first.
void llm_engine::hand_over_stopped(time_point now) {
  if (batch_) release(handovers_.leases().expire(now));
  if (!handovers_.has_orders()) return;
  flush_answers();
  const auto engine = batch_ ? std::optional(loaded()) : std::nullopt;
  const bool stays = planted(bug::double_home);
  for (auto& d : handovers_.depart(engine && !stays ? &*engine : nullptr, now)) {
    if (d.adapter) on_request_end(d.answer.id, *d.adapter);
    send(d.gateway, std::move(d.answer));
  }
}

/// Leases on these blocks are over.
void llm_engine::release(kv_leases::blocks kept) {
  if (kept.empty()) return;
  for (auto& k : kept) batch_->scheduler().release(k);
  on_change();
}

/// When the first step in flight will have taken longer than the longest valid step.
time_point llm_engine::stalled_at() const {
  return batch_ && batch_->scheduler().under_way() > 0 ? clock_.overdue_at() : never;
}

void llm_engine::exchange_adapters(time_point now) {
  if (!batch_ || !adapters_.exchange_due()) return;
  auto& scheduler = batch_->scheduler();
  const auto users = [&](llm::adapter_id a) {
    if (planted(bug::hasty_slot))
      return static_cast<uint32_t>(std::ranges::count(scheduler.running_adapters(), a));
    return scheduler.users(a);
  };
  const auto moves = adapters_.exchange(scheduler.wanted_adapters(adapters_.exchange_limit()), users, now);
  for (const auto a : moves.fence) scheduler.adapter_unloaded(a);
  for (const auto a : moves.unload) {
    scheduler.adapter_unloaded(a);
    if (adapters_.find(a) == nullptr) scheduler.drop_cached(a);  // it was unregistered
    device_.unload_adapter(a);
  }
  for (const auto a : moves.load) {
    const auto& path = adapters_.find(a)->what.path;
    device_.load_adapter(a, planted(bug::wrong_slot) ? path + "1" : path);
  }
}

void llm_engine::carry_out(const llm::adapter_manager::outcome& o) {
  if (o.read != nullptr) device_.read_adapter(o.read->id, o.read->what.path);
  if (!o.present.empty() || !o.gone.empty())
    broadcast(adapters_known{options_.model, options_.engine, false, o.present, o.gone});
  if (o.answer) send(o.answer->to, o.answer->says);
}

void llm_engine::flush_answers() {
  answers_.flush([this](const address& gateway, auto&& m) { send(gateway, std::move(m)); });
}

/// Routers migrate preempted requests to engines with room.
void llm_engine::report_preempted() {
  sequences_preempted news{options_.model, options_.engine, batch_->take_preempted()};
  if (news.requests.empty()) return;
  for (const auto n : options_.routers)
    if (nodes_up_.contains(n)) send(on_node(n, role::llm_router, options_.model.value), news);
}

/// Routers with the policy `prefix` place requests where their blocks are.
void llm_engine::tell_cached(time_point now) {
  if (!options_.tells_cached) return;
  if (batch_) blocks_.add(batch_->scheduler().take_cache_changes());
  const auto all = [this] {
    return batch_ ? batch_->scheduler().blocks().cached() : std::vector<uint64_t>();
  };
  for (const auto& news : blocks_.take(options_.model, options_.engine, now, all))
    for (const auto n : options_.routers)
      if (nodes_up_.contains(n)) send(on_node(n, role::llm_router, options_.model.value), news);
}

/// To gateways and routers, and statuses also to parameter pools.
void llm_engine::broadcast(const actor_message& news) {
  for (const auto n : options_.gateways)
    if (nodes_up_.contains(n)) send(on_node(n, role::llm_gateway), news);
  for (const auto n : options_.routers)
    if (nodes_up_.contains(n)) send(on_node(n, role::llm_router, options_.model.value), news);
  if (options_.scales && std::holds_alternative<engine_status>(news))
    for (const auto n : options_.routers)
      if (nodes_up_.contains(n)) send(on_node(n, role::parameter_pool), news);
}

/// Sequences have arrived, ended or progressed.
void llm_engine::on_change() {
  adapters_.reconsider();
  updates_.on_change();
}

void llm_engine::send_status(time_point now) {
  if (!updates_.is_due(now)) return;
  if (const auto* news = updates_.update(status(now), now)) broadcast(*news);
}

}  // namespace troupe
