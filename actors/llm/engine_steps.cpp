// The steps of an engine: what it starts, and what becomes of what they give.
#include <algorithm>
#include <set>

#include "actors/common/planted_bug.hpp"
#include "actors/llm/engine.hpp"
#include "actors/llm/ids_where.hpp"

namespace troupe {

/// What was in the step has failed. Others that run, or are in one behind it, have lost their keys and
/// values, and wait again.
void llm_engine::on_failed_step(const std::string& detail) {
  adapters_moved_ = status_changed_ = true;
  const std::set<llm::sequence_id> held(sequences_->scheduler().step().sequences.begin(),
                                        sequences_->scheduler().step().sequences.end());
  sequences_->fail_steps();
  const auto was_in_it = [&](const in_flight_request& f) {
    return std::ranges::any_of(f.open, [&](const auto& sequence) { return held.contains(sequence.second); });
  };
  fail_those(ids_where(in_flight_, was_in_it), failure::device_error, detail);
}

/// A sequence may have ended that nothing is told of: it was cancelled.
void llm_engine::on_step(llm::engine_event& e) {
  step_began_ = now_;  // the next one, if there is one
  adapters_moved_ = status_changed_ = true;
  ++steps_;
  device_busy_ += e.took;
  const auto& step = sequences_->scheduler().step();
  const auto decodes = sequences_->scheduler().decodes_of_step();
  pace_.add(decodes, step.rows() - decodes, e.took);
  for (const auto& got : sequences_->done(e.chosen)) {
    const auto known = places_.find(got.sequence);
    if (known == places_.end()) continue;  // another choice of its request has failed
    const auto at = known->second;
    const auto f = in_flight_.find(at.request);
    auto& out = post_to(f->second.gateway);
    if (got.chosen == nullptr) {
      out.failed.results.push_back({at.request,
                                    f->second.attempt,
                                    failure::device_error,
                                    {},
                                    "the model gave no numbers to choose a token from"});
      give_up(at.request);
      continue;
    }
    ++generated_tokens_;
    out.tokens.tokens.push_back({at.request, f->second.attempt, at.choice, got.chosen->which,
                                 got.chosen->logprob, got.chosen->top, got.finish});
    if (!got.ended()) continue;
    places_.erase(got.sequence);
    f->second.open.erase(at.choice);
    if (f->second.open.empty()) close(f);
  }
}

/// When one that is planned now begins: as far as that can be told, when the one under way has ended.
time_point llm_engine::step_begins(time_point now) const {
  const auto& scheduler = sequences_->scheduler();
  if (scheduler.under_way() == 0) return now;
  const auto decodes = scheduler.decodes_of_step();
  const auto steps = pace_.forecast();
  return std::max(now, step_began_ + steps.fixed + decodes * steps.decode +
                           (scheduler.step().rows() - decodes) * steps.prefill);
}

time_point llm_engine::stalled_at() const {
  const bool runs = sequences_ && sequences_->scheduler().under_way() > 0;
  return runs && facts_.longest_step > duration{} ? step_began_ + facts_.longest_step : never;
}

llm::step_context llm_engine::context(time_point at) const {
  return {at, pace_.forecast(), pace_.prompt_tokens()};
}

/// What cannot have its first token in time any more.
void llm_engine::drop_late() {
  const auto late = sequences_->scheduler().late();
  for (const auto sequence : late) {
    const auto request = places_.at(sequence).request;
    const auto& f = in_flight_.at(request);
    post_to(f.gateway).dropped.requests.push_back({request, f.attempt, drop_reason::late});
    give_up(request);
  }
}

void llm_engine::begin_steps(time_point now) {
  while (can_start()) {
    const auto begins = step_begins(now);
    const bool ahead = sequences_->scheduler().under_way() > 0;
    const auto& step = sequences_->plan(context(begins));
    send_preempted();
    drop_late();
    if (step.rows() == 0) return;
    if (!ahead) step_began_ = now;
    start(step);
  }
}

void llm_engine::start(const llm::llm_step& step) {
  if (planted(bug::mixed_pages)) {
    auto mixed = step;
    mixed.blocks.front() = mixed.blocks.back();
    return device_.start(mixed, sequences_->samplings());
  }
  if (planted(bug::wrong_row)) {
    auto mixed = step;
    const auto last = std::ranges::find_if(mixed.tokens.rbegin(), mixed.tokens.rend(), llm::is_chosen_before);
    for (auto& t : mixed.tokens)
      if (llm::is_chosen_before(t)) t = *last;
    return device_.start(mixed, sequences_->samplings());
  }
  device_.start(step, sequences_->samplings());
}

}  // namespace troupe
