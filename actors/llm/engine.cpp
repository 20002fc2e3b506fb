#include "actors/llm/engine.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "actors/common/planted_bug.hpp"
#include "actors/llm/ids_where.hpp"
#include "policies/llm/queue_turn.hpp"

namespace troupe {

llm_engine::llm_engine(address self, outbox& out, const options& o, llm::engine_device& device)
    : actor(self, out), options_(o), device_(device), slots_(o.adapter_slots) {
  for (const auto& a : options_.adapters) adapters_.add(a);
}

void llm_engine::on(envelope& e, time_point now) {
  now_ = now;
  dispatch(e.body,
           overloaded{
               [&](generate& g) {
                 for (auto& r : g.requests) accept(r);
               },
               [&](cancel& c) {
                 if (!planted(bug::deaf_engine)) give_up(c.id);
               },
               [&](end_choice& c) { end_sequence(c.id, c.choice); },
               [&](change_adapter& c) { change(e.from, c); },
               [&](device_ready&) {
                 while (device_.poll(now, happened_)) on_event(happened_, now);
               },
               [&](node_up& n) {
                 if (std::ranges::count(options_.gateways, n.node) == 0 &&
                     std::ranges::count(options_.routers, n.node) == 0)
                   return;
                 nodes_up_[n.node] = n.incarnation;
                 broadcast(all_adapters());
                 sent_status_.reset();  // it has not heard
                 status_sent_at_ = long_ago;
                 status_changed_ = true;
               },
               [&](node_down& n) {
                 if (const auto up = nodes_up_.find(n.node);
                     up != nodes_up_.end() && up->second == n.incarnation)
                   nodes_up_.erase(up);
                 for (const auto id : ids_where(in_flight_, [&](const in_flight_request& f) {
                        return f.gateway.node == n.node && f.gateway.incarnation == n.incarnation;
                      }))
                   give_up(id);
               },
               [&](new_incarnation&) {
                 for (const auto id : ids_where(in_flight_, [](const in_flight_request&) { return true; }))
                   give_up(id);
                 nodes_up_.clear();
                 posts_.clear();
               },
               [&](drain&) {
                 draining_ = status_changed_ = true;
                 status_sent_at_ = long_ago;  // routers move its sequences as soon as they hear of it
               },
           });
}

void llm_engine::on_time(time_point now) {
  now_ = now;
  const bool overdue = now >= stalled_at();
  while ((overdue || device_.poll_at() <= now) && device_.poll(now, happened_)) on_event(happened_, now);
  if (now >= stalled_at())
    throw std::runtime_error(options_.name + ": its device is lost: a step has not ended within " +
                             std::to_string(facts_.longest_step / 1s) + " s");
  exchange_adapters(now);
  begin_steps(now);
  mail();
  send_status(now);
}

time_point llm_engine::next_wakeup() const {
  const auto status = status_changed_ ? status_sent_at_ + options_.status_interval : never;
  const auto prompts = can_start() ? sequences_->scheduler().begins_at() : never;
  return std::min({device_.poll_at(), status, prompts, stalled_at()});
}

void llm_engine::accept(generation& g) {
  if (draining_) return drop(g, drop_reason::draining);
  if (!sequences_) return problem_.empty() ? drop(g, drop_reason::no_capacity) : fail(g, problem_);
  auto* adapter = g.adapter.empty() ? nullptr : adapters_.find(g.adapter);
  if (!g.adapter.empty() && (adapter == nullptr || adapter->checking))
    return drop(g, drop_reason::undeployed);
  if (auto wrong = problem_with(g)) return fail(g, std::move(*wrong));
  const auto sequences = g.progress.empty() ? g.choices : static_cast<uint32_t>(g.progress.size());
  if (sequences_->scheduler().waiting() + sequences > options_.max_waiting)
    return drop(g, drop_reason::queue_full);
  llm::sequence_request sequence;
  sequence.adapter = adapter == nullptr ? llm::base_model : adapter->id;
  sequence.prompt = std::move(g.prompt);
  sequence.max_tokens = g.max_tokens;
  sequence.sampling = g.sampling;
  sequence.stop = std::move(g.stop);
  sequence.top = g.top_logprobs;
  sequence.priority = g.priority;
  sequence.turn = queue_turn(g.arrival, g.due, !g.progress.empty());
  sequence.tpot = g.tpot;
  in_flight_request f{g.gateway, g.attempt, sequence.adapter, {}};
  const auto prompt = sequence.prompt.size();
  if (!begin(g, sequence, f)) {  // the first of them: they are all alike, and there is room
    for (const auto& [_, id] : f.open) {
      sequences_->cancel(id);
      places_.erase(id);
    }
    return fail(g, "prompt and answer do not fit into the KV cache");
  }
  prompt_tokens_ += prompt;
  if (adapter != nullptr) ++adapter->open, ++adapter->requests;
  in_flight_.emplace(g.id, std::move(f));
  adapters_moved_ = status_changed_ = true;
}

/// All its choices from the beginning, or those that go on with what they have.
bool llm_engine::begin(const generation& g, const llm::sequence_request& sequence, in_flight_request& f) {
  const auto add = [&](uint32_t choice, const std::vector<llm::token>& so_far) {
    auto one = sequence;
    // the first token of a request is its first choice's
    if (g.progress.empty() && choice == 0) one.due = g.due;
    one.generated = so_far;
    one.sampling.seed += choice;
    const auto [id, refused] = sequences_->add(std::move(one));
    if (refused != llm::sequence_batch::refusal::none) return false;
    f.open.emplace(choice, id);
    places_.emplace(id, place{g.id, choice});
    return true;
  };
  for (const auto& t : g.progress)
    if (!add(t.choice, t.tokens)) return false;
  for (uint32_t i = 0; g.progress.empty() && i < g.choices; ++i)
    if (!add(i, {})) return false;
  return true;
}

/// A gateway has looked at all this; but it may know what an earlier engine said.
std::optional<std::string> llm_engine::problem_with(const generation& g) const {
  if (g.prompt.empty() || g.max_tokens == 0 || g.choices == 0)
    return "a sequence needs a prompt, a choice and a token to generate";
  if (g.prompt.size() - 1 + g.max_tokens > facts_.max_positions)
    return std::to_string(g.prompt.size()) + " tokens of prompt and " + std::to_string(g.max_tokens) +
           " to generate are more than the model's " + std::to_string(facts_.max_positions) + " positions";
  const auto known = [&](llm::token t) { return t >= 0 && static_cast<uint32_t>(t) < facts_.vocabulary; };
  const auto goes_on = [&](const sequence_progress& t) {
    return t.choice < g.choices && t.tokens.size() < g.max_tokens && std::ranges::all_of(t.tokens, known);
  };
  const bool each_once = std::ranges::adjacent_find(g.progress, std::greater_equal{},
                                                    &sequence_progress::choice) == g.progress.end();
  if (!each_once || !std::ranges::all_of(g.progress, goes_on))
    return "what another engine began is not of this request";
  if (!std::ranges::all_of(g.prompt, known) ||
      !std::ranges::all_of(g.sampling.biases, known, &llm::token_bias::which))
    return "a token is not of the model's vocabulary";
  if (!g.adapter.empty() && options_.adapter_slots == 0) return "the engine has no room for adapters";
  if (in_flight_.contains(g.id)) return "the request is here already";
  return {};
}

void llm_engine::drop(const generation& g, drop_reason why) {
  post_to(g.gateway).dropped.requests.push_back({g.id, g.attempt, why});
}

void llm_engine::fail(const generation& g, std::string detail) {
  post_to(g.gateway).failed.results.push_back(
      {g.id, g.attempt, failure::device_error, {}, std::move(detail)});
}

/// Ends the request without a word.
void llm_engine::give_up(request_id id) {
  const auto found = in_flight_.find(id);
  if (found == in_flight_.end()) return;
  for (const auto& [_, sequence] : found->second.open) {
    sequences_->cancel(sequence);
    places_.erase(sequence);
  }
  found->second.open.clear();
  close(found);
}

void llm_engine::end_sequence(request_id id, uint32_t choice) {
  const auto found = in_flight_.find(id);
  if (found == in_flight_.end()) return;
  auto& open = found->second.open;
  const auto sequence = open.find(choice);
  if (sequence == open.end()) return;
  sequences_->cancel(sequence->second);
  places_.erase(sequence->second);
  open.erase(sequence);
  if (open.empty()) close(found);
}

void llm_engine::close(std::unordered_map<request_id, in_flight_request>::iterator f) {
  const auto adapter = f->second.adapter;
  in_flight_.erase(f);
  adapters_moved_ = status_changed_ = true;
  if (adapter == llm::base_model) return;
  if (--adapters_.find(adapter)->open == 0) leave(adapter);
}

void llm_engine::fail_those(const std::vector<request_id>& ids, failure why, const std::string& detail) {
  for (const auto id : ids) {
    const auto& f = in_flight_.at(id);
    post_to(f.gateway).failed.results.push_back({id, f.attempt, why, {}, detail});
    give_up(id);
  }
}

void llm_engine::on_event(llm::engine_event& e, time_point now) {
  using kind = llm::engine_event::kind;
  switch (e.what) {
    case kind::layers_ready: facts_ = e.facts; return;
    case kind::loaded: return on_loaded(e.facts);
    case kind::unusable:
      problem_ = e.problem;
      if (options_.on_unusable) options_.on_unusable(options_.name + ": " + problem_);
      status_changed_ = true;
      return;
    case kind::lost:  // the process ends and is started again; its sequences go on elsewhere
                      // (supervision.hpp)
      throw std::runtime_error(options_.name + ": its device is lost: " + e.problem);
    case kind::step_done: return on_step(e);
    case kind::step_failed: return on_failed_step(e.problem);
    case kind::adapter_read: return on_adapter_read(e.adapter, e.problem);
    case kind::adapter_ready: return on_adapter_ready(e, now);
    case kind::adapter_failed: return on_adapter_failed(e);
  }
}

void llm_engine::on_loaded(const llm::engine_facts& facts) {
  facts_ = facts;
  llm::scheduler_limits limits;
  limits.max_sequences = options_.max_sequences;
  limits.prefill_chunk = options_.prefill_chunk;
  limits.mix_adapters = options_.mix_adapters;
  limits.max_waiting = options_.max_waiting;
  limits.blocks = facts.blocks;
  limits.block_tokens = facts.block_tokens;
  sequences_.emplace(limits, (*llm::prefill_timings().find(options_.prefill))());
  status_changed_ = true;
  broadcast(all_adapters());  // who has more of them may bring them now
}

/// So that a router moves them where there is room. Those with several choices stay: not all of them wait.
void llm_engine::send_preempted() {
  sequences_preempted news{options_.model, options_.engine, {}};
  for (const auto sequence : sequences_->scheduler().take_preempted())
    if (const auto known = places_.find(sequence);
        known != places_.end() && in_flight_.at(known->second.request).open.size() == 1)
      news.requests.push_back(known->second.request);
  if (news.requests.empty()) return;
  for (const auto n : options_.routers)
    if (nodes_up_.contains(n)) send(on_node(n, role::llm_router, options_.model.value), news);
}

llm_engine::post& llm_engine::post_to(const address& gateway) {
  const auto known = std::ranges::find(posts_, gateway, &std::pair<address, post>::first);
  return known != posts_.end() ? known->second : posts_.emplace_back(gateway, post{}).second;
}

void llm_engine::mail() {
  for (auto& [gateway, p] : posts_) {
    // tokens first: what ends a request ends it
    if (!p.tokens.tokens.empty()) send(gateway, std::move(p.tokens));
    if (!p.dropped.requests.empty()) send(gateway, std::move(p.dropped));
    if (!p.failed.results.empty()) send(gateway, std::move(p.failed));
  }
  posts_.clear();
}

}  // namespace troupe
