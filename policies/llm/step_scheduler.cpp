#include "policies/llm/step_scheduler.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "policies/llm/scheduled_sequence.hpp"

namespace troupe::llm {

step_scheduler::step_scheduler(scheduler_limits limits, std::unique_ptr<prefill_timing> timing)
    : limits_(limits),
      timing_(std::move(timing)),
      blocks_({.blocks = limits.blocks,
               .block_tokens = limits.block_tokens,
               .shares = limits.prefix_cache,
               .tells = limits.tells_cached,
               .planted = limits.planted}) {
  assert(limits.max_sequences > 0 && limits.prefill_chunk > 0 && limits.block_tokens > 0);
}
step_scheduler::~step_scheduler() = default;

size_t step_scheduler::blocks_for(size_t positions) const {
  return (positions + limits_.block_tokens - 1) / limits_.block_tokens;
}

step_scheduler::refusal step_scheduler::add(new_sequence s) {
  if (s.prompt.empty() || s.max_tokens == 0) return refusal::empty;
  // the last token is never computed
  const size_t max_length = s.prompt.size() + s.max_tokens;
  if (blocks_for(max_length - 1) > blocks_.count()) return refusal::too_long;
  if (waiting_.size() >= limits_.max_waiting) return refusal::queue_full;
  auto made = std::make_unique<scheduled_sequence>(scheduled_sequence{s.id,
                                                                      arrivals_++,
                                                                      std::move(s.prompt),
                                                                      max_length,
                                                                      s.adapter,
                                                                      s.priority,
                                                                      s.turn,
                                                                      s.due,
                                                                      s.tpot,
                                                                      std::move(s.scope),
                                                                      {}});
  made->offered = std::min(s.offered, made->tokens.size() - 1);
  if (s.prefill_only) made->stops_at = made->tokens.size() + 1;
  look_up(*made);
  waiting_.add(*made);
  [[maybe_unused]] const bool fresh = known_.emplace(s.id, std::move(made)).second;
  assert(fresh);
  return refusal::none;
}

void step_scheduler::cancel(sequence_id id) {
  if (const auto found = known_.find(id); found != known_.end()) end(*found->second);
}

/// It is forgotten once no step under way contains it, and nothing arrives for it: its blocks are written
/// until then.
void step_scheduler::end(scheduled_sequence& s) {
  if (s.steps == 0 && !s.arriving) return forget(s);
  if (std::exchange(s.ended, true) || s.arriving) return;
  std::erase(running_, &s);
  std::erase(stopped_, &s);
  ended_.push_back(&s);
}

void step_scheduler::forget(scheduled_sequence& s) {
  release(s);
  std::erase(running_, &s);
  waiting_.remove(s);
  std::erase(ended_, &s);
  std::erase(stopped_, &s);
  known_.erase(s.id);
}

/// A sequence whose blocks are being filled is stopped when that has ended.
void step_scheduler::stop(sequence_id id) {
  auto& s = *known_.at(id);
  std::erase(running_, &s);
  waiting_.remove(s);
  if (!s.arriving && std::ranges::count(stopped_, &s) == 0) stopped_.push_back(&s);
  s.stopped = true;
}

bool step_scheduler::can_take(sequence_id id) const {
  const auto& s = *known_.at(id);
  return s.stopped && s.steps == 0 && !s.arriving;
}

step_scheduler::kept_blocks step_scheduler::take(sequence_id id) {
  auto& s = *known_.at(id);
  assert(can_take(id));
  kept_blocks out{std::exchange(s.kv, {}), s.computed};
  forget(s);
  return out;
}

std::vector<step_scheduler::arrival> step_scheduler::take_arriving() {
  std::vector<arrival> out;
  for (const auto id : std::exchange(covered_, {})) out.push_back({id, 0, 0, {}});
  for (; arrivals_taken_ < arriving_.size(); ++arrivals_taken_) {
    const auto& s = *arriving_[arrivals_taken_];
    const auto first = s.computed / limits_.block_tokens;
    out.push_back({s.id, first, s.offered, std::span(s.kv.blocks).first(blocks_for(s.offered))});
  }
  return out;
}

void step_scheduler::arrived(sequence_id id, bool complete) {
  auto& s = *known_.at(id);
  std::erase(arriving_, &s);
  --arrivals_taken_;
  s.arriving = false;
  const auto offered = std::exchange(s.offered, 0);
  if (s.ended) return forget(s);
  if (std::exchange(s.lost, false)) {
    release(s);
    if (!s.stopped) return waiting_.add(s);
  } else if (complete) {
    s.computed = offered;
    s.kv.foreign = s.adapter != base_model;  // engines may have different files under its name
    blocks_.publish(s.kv, s.tokens, offered);
  }
  if (s.stopped)
    stopped_.push_back(&s);
  else
    run(s);
}

/// It takes part in the next steps.
void step_scheduler::run(scheduled_sequence& s) {
  const auto later = std::find_if(running_.begin(), running_.end(),
                                  [&](const auto* r) { return r->importance() > s.importance(); });
  running_.insert(later, &s);
}

std::vector<adapter_id> step_scheduler::running_adapters() const {
  auto all = running_;
  all.insert(all.end(), arriving_.begin(), arriving_.end());
  return adapters_of(all);
}
std::vector<adapter_id> step_scheduler::waiting_adapters() const { return adapters_of(waiting_); }

uint32_t step_scheduler::users(adapter_id a) const {
  const auto has_it = [&](const auto* s) { return s->adapter == a; };
  size_t out = 0;
  for (const auto* some : {&running_, &ended_, &stopped_, &arriving_})
    out += static_cast<size_t>(std::count_if(some->begin(), some->end(), has_it));
  return static_cast<uint32_t>(out);
}

const std::vector<token>* step_scheduler::tokens(sequence_id id) const {
  const auto found = known_.find(id);
  return found == known_.end() ? nullptr : &found->second->tokens;
}

void step_scheduler::release(scheduled_sequence& s) {
  blocks_.release(s.kv);
  s.computed = 0;
}

/// Of a sequence that has stopped and not been taken: others are waited for. False: none has blocks.
bool step_scheduler::release_stopped() {
  for (auto* s : stopped_) {
    if (s->steps > 0 || s->kv.blocks.empty()) continue;
    release(*s);
    return true;
  }
  return false;
}

void step_scheduler::preempt(scheduled_sequence& s) {
  ++preemptions_;
  release(s);
  look_up(s);
  std::erase(running_, &s);
  waiting_.add(s);
}

/// Reserves blocks for its first `positions`, preempting newer sequences. False: only itself was left, and it
/// was preempted.
bool step_scheduler::reserve(scheduled_sequence& s, size_t positions) {
  const auto needs = blocks_for(positions);
  while (blocks_.available() + s.kv.blocks.size() < needs) {
    auto& newest = *running_.back();
    preempted_.push_back(newest.id);
    preempt(newest);
    if (&newest == &s) return false;
  }
  while (s.kv.blocks.size() < needs) blocks_.add_block(s.kv);
  return true;
}

size_t step_scheduler::cached_tokens(sequence_id id) const {
  const auto found = known_.find(id);
  return found == known_.end() ? 0 : found->second->cached;
}

bool step_scheduler::prefilling() const {
  return std::any_of(running_.begin(), running_.end(), [](const auto* s) { return !s->decodes(); });
}

uint64_t step_scheduler::uncomputed_tokens() const {
  uint64_t sum = 0;
  for (const auto* s : running_)
    if (!s->decodes()) sum += s->uncomputed_tokens();
  for (const auto* s : waiting_) sum += s->uncomputed_tokens();
  return sum;
}

uint32_t step_scheduler::max_running(const step_context& context) const {
  auto max = limits_.max_sequences;
  for (const auto* some : {&running_, &arriving_})
    for (const auto* s : *some)
      max = std::min(max, sequences_within(s->tpot, context.prompt_tokens, context.steps));
  return max;
}

void step_scheduler::look_up(scheduled_sequence& s) const {
  s.expected = std::max(blocks_.longest(s.scope, s.tokens), s.offered);
}

/// Takes the cached blocks of its first tokens, and others for the rest. False: there are not enough. It then
/// looks again once there are more, so that a sequence that waits costs no look-up in every step.
bool step_scheduler::begin(scheduled_sequence& s) {
  const auto spare = static_cast<int64_t>(blocks_.available()) - static_cast<int64_t>(running());
  if (running() > 0 && spare < s.blocks_missing) return false;
  const auto needs = blocks_for(s.tokens.size()) + running();
  s.computed = blocks_.begin(s.kv, s.scope, s.tokens);
  const auto has = s.kv.blocks.size() + blocks_.available();
  if (has < needs) {
    s.expected = std::max(s.computed, s.offered);
    s.blocks_missing = spare + static_cast<int64_t>(needs - has);
    release(s);
    return false;
  }
  while (s.kv.blocks.size() < blocks_for(s.tokens.size())) blocks_.add_block(s.kv);
  s.expected = 0;
  s.arriving = s.offered > s.computed;
  if (!s.arriving && std::exchange(s.offered, 0) > 0) covered_.push_back(s.id);
  s.blocks_missing = std::numeric_limits<int64_t>::min();
  if (!limits_.prefix_cache || std::exchange(s.counted, true)) return true;
  s.cached = s.computed;
  cache_use_.queried += s.tokens.size();
  cache_use_.hit += s.cached;
  return true;
}

/// Admits the first waiting sequence whose adapter is loaded, if blocks suffice for its tokens so far and for
/// running sequences to grow. Otherwise it would soon be preempted again.
scheduled_sequence* step_scheduler::admit(const step_context& context) {
  auto* const s = waiting_.first(loaded_);
  if (s == nullptr) return nullptr;
  if (running() > 0) {
    const auto* other = running_.empty() ? arriving_.front() : running_.front();
    if (!limits_.mix_adapters && other->adapter != s->adapter) return nullptr;
    if (running() >=
        std::min(max_running(context), sequences_within(s->tpot, context.prompt_tokens, context.steps)))
      return nullptr;
  }
  while (!begin(*s))
    if (running() > 0 || !release_stopped()) return nullptr;
  waiting_.remove(*s);
  if (s->arriving)
    arriving_.push_back(s);
  else
    run(*s);
  return s;
}

/// Whether waiting sequences are delayed, though the first of them could begin.
bool step_scheduler::delays_prefill(const step_context& context) {
  if (timing_ == nullptr || waiting_.empty() || prefilling()) return false;
  const auto max = max_running(context);
  if (running() >= max) return false;
  prefill_queue q{.now = context.now,
                  .waiting = 0,
                  .places = max - running(),
                  .tokens = 0,
                  .chunk = limits_.prefill_chunk,
                  .decodes = static_cast<uint32_t>(running_.size()),
                  .due = never,
                  .steps = context.steps};
  for (const auto* s : waiting_) {
    if (s->late || !loaded_.contains(s->adapter)) continue;
    ++q.waiting;
    q.tokens += s->uncomputed_tokens();
    q.due = std::min(q.due, s->due == never ? long_ago : s->due);
  }
  if (q.waiting == 0) return false;
  const auto at = timing_->begin(q);
  if (at <= context.now) return false;
  begins_at_ = at;
  return true;
}

/// Judged by the tokens to prefill before them, at the forecast. An idle engine tries each sequence that is
/// not overdue.
void step_scheduler::find_late(const step_context& context) {
  uint64_t before_it = 0;
  for (const auto* s : running_)
    if (!s->decodes()) before_it += s->uncomputed_tokens();
  const auto decodes = static_cast<uint32_t>(running_.size());
  for (auto* s : waiting_) {
    const bool tries = running_.empty() && before_it == 0;
    const auto is_late = [&] {
      const auto needs = tries ? duration{}
                               : prefill_time(before_it + s->uncomputed_tokens(), limits_.prefill_chunk,
                                              decodes, context.steps);
      return context.now + needs > s->due;
    };
    s->late = is_late();
    if (s->late && limits_.prefix_cache) {
      look_up(*s);  // others may have computed a part of it meanwhile
      s->late = is_late();
    }
    if (s->late)
      late_.push_back(s->id);
    else
      before_it += s->uncomputed_tokens();
  }
}

/// Whether all running sequences have blocks for the next step before the tokens of those under way are
/// known.
bool step_scheduler::all_continue() const {
  size_t blocks = 0;
  for (const auto* s : running_) {
    if (s->complete()) continue;
    blocks += std::max(blocks_for(s->length()), s->kv.blocks.size()) - s->kv.blocks.size();
  }
  return blocks <= blocks_.available();
}

/// Continues prompts that have begun and begins others, as far as the step has room.
void step_scheduler::add_prompts(planned_step& to, const step_context& context) {
  uint32_t room = limits_.prefill_chunk;
  prompts_.clear();
  const auto take = [&](scheduled_sequence& s) {
    if (room == 0) return;
    s.in_step = static_cast<uint32_t>(std::min<uint64_t>(room, s.uncomputed_tokens()));
    room -= s.in_step;
    prompts_.push_back(&s);
    blocks_.publish(s.kv, s.tokens, s.computed + s.in_step);
  };
  for (auto* s : running_)
    if (!s->decodes()) take(*s);
  if (!delays_prefill(context))
    while (room > 0) {
      auto* s = admit(context);
      if (s == nullptr) break;
      if (s->arriving) continue;
      if (s->decodes())  // all but its last token was cached
        decodes_.push_back(s);
      else
        take(*s);
    }
  to.add_prompts(prompts_);
}

const llm_step& step_scheduler::plan(const step_context& context) {
  assert(under_way_ < steps_.size());
  auto& made = steps_[(first_ + under_way_) % steps_.size()];
  made.clear();
  late_.clear();
  begins_at_ = never;
  if (under_way_ > 0 && !all_continue()) return made.step;
  // most important first: they keep their blocks, the least important are preempted
  for (size_t i = 0; i < running_.size();) {
    auto& s = *running_[i];
    if (!s.decodes() || s.complete() || reserve(s, s.length())) ++i;
  }
  find_late(context);
  decodes_.clear();
  for (auto* s : running_)
    if (s->decodes() && !s->complete()) decodes_.push_back(s);
  add_prompts(made, context);
  made.add_decodes(decodes_);
  if (made.step.rows() > 0) ++under_way_;
  return made.step;
}

void step_scheduler::done(std::span<const sampled_token> chosen) {
  assert(under_way_ > 0);
  auto& ran = steps_[first_];
  first_ = (first_ + 1) % steps_.size();
  --under_way_;
  for (auto*& s : ran.sequences) {
    --s->steps;
    if (!s->ended) continue;
    if (s->steps == 0) forget(*s);
    s = nullptr;
  }
  auto next = chosen.begin();  // they mostly come in the order of the rows
  for (const auto row : ran.step.sampled) {
    auto* s = ran.sequences[ran.step.row_sequence[row]];
    if (s == nullptr) continue;
    auto its = next;
    if (its == chosen.end() || its->sequence != s->id)
      its = std::find_if(chosen.begin(), chosen.end(), [&](const auto& c) { return c.sequence == s->id; });
    --s->awaited;
    const bool ends = its == chosen.end() || its->last || s->tokens.size() + 1 == s->max_length;
    if (its != chosen.end()) {
      if (!its->valid) blocks_.drop_scope(s->kv);
      s->tokens.push_back(its->chosen);
      blocks_.publish(s->kv, s->tokens, s->computed);
      s->due = never, s->turn = long_ago;  // it has begun: it precedes those that have not
      next = its + 1;
    }
    if (ends)
      end(*s);
    else if (s->tokens.size() == s->stops_at)
      stop(s->id);
  }
}

void step_scheduler::fail() {
  assert(under_way_ > 0);
  under_way_ = 0;
  for (auto& lost : steps_) lost.sequences.clear();
  for (auto* s : running_) s->steps = 0, s->awaited = 0;
  for (auto* s : stopped_) {
    s->steps = 0, s->awaited = 0;
    release(*s);
  }
  for (auto* s : arriving_) s->lost = true;
  while (!ended_.empty()) forget(*ended_.back());
  blocks_.drop_all();
  for (auto* s : waiting_) s->expected = s->offered;
  while (!running_.empty()) preempt(*running_.back());
}

}  // namespace troupe::llm
