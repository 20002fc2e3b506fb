#include "policies/llm/sequence_batch.hpp"

#include <algorithm>
#include <utility>

namespace troupe::llm {

token_frequency& sequence_batch::open_sequence::count(token t) {
  const auto [at, fresh] = place.try_emplace(t, counts.size());
  if (fresh) counts.push_back({.which = t});
  return counts[at->second];
}

sequence_batch::added sequence_batch::add(sequence_request r) {
  const auto id = sequence_id{next_id_};
  auto so_far = r.prompt;
  so_far.insert(so_far.end(), r.generated.begin(), r.generated.end());
  const auto generated = static_cast<uint32_t>(std::min<size_t>(r.generated.size(), r.max_tokens));
  auto sequence = std::make_shared<open_sequence>();
  sequence->asked = std::move(r);
  sequence->generated = generated;
  const auto& asked = sequence->asked;
  const auto refused =
      scheduler_.add({id, std::move(so_far), asked.max_tokens - generated, asked.adapter, asked.priority,
                      asked.turn, asked.due, asked.tpot, asked.scope, asked.offered, asked.prefill_only});
  if (refused != refusal::none) return {{}, refused};
  ++next_id_;
  if (sequence->has_penalties()) {
    for (const auto t : sequence->asked.prompt) ++sequence->count(t).prompt;
    for (const auto t : sequence->asked.generated) ++sequence->count(t).output;
  }
  known_.emplace(id, std::move(sequence));
  return {id, refusal::none};
}

void sequence_batch::cancel(sequence_id id) {
  scheduler_.cancel(id);
  forget(id);
}

step_scheduler::kept_blocks sequence_batch::take(sequence_id id) {
  forget(id);
  return scheduler_.take(id);
}

void sequence_batch::forget(sequence_id id) {
  const auto found = known_.find(id);
  if (found == known_.end()) return;
  found->second->gone = true;
  known_.erase(found);
}

const llm_step& sequence_batch::plan(const step_context& context) {
  planned_ = (first_ + scheduler_.under_way()) % choices_.size();
  auto& [samplings, counts, sequences] = choices_[planned_];
  const auto& step = scheduler_.plan(context);
  samplings.clear();
  counts.clear();
  sequences.clear();
  for (const auto row : step.sampled) {
    const auto& sequence = sequences.emplace_back(known_.at(step.sequences[step.row_sequence[row]]));
    counts.insert(counts.end(), sequence->counts.begin(), sequence->counts.end());
    samplings.push_back({&sequence->asked.sampling,
                         sequence->asked.sampling.seed,
                         {},
                         step.positions[row] + uint64_t{1},
                         sequence->asked.top});
  }
  auto* next = counts.data();
  for (size_t i = 0; i < samplings.size(); next += sequences[i++]->counts.size())
    samplings[i].counts = {next, sequences[i]->counts.size()};
  return step;
}

std::span<const sequence_batch::step_token> sequence_batch::done(std::span<const chosen_token> chosen) {
  sampled_.clear();
  results_.clear();
  const auto& step = scheduler_.step();
  auto& sequences = choices_[first_].sequences;
  for (size_t i = 0; i < sequences.size() && i < chosen.size(); ++i) {
    auto& sequence = *sequences[i];
    if (sequence.gone) continue;
    step_token result{step.sequences[step.row_sequence[step.sampled[i]]]};
    if (chosen[i].valid) {
      const auto next = chosen[i].which;
      if (++sequence.generated == 1)
        result.cached = static_cast<uint32_t>(scheduler_.cached_tokens(result.sequence));
      if (sequence.has_penalties()) ++sequence.count(next).output;
      const auto& stop = sequence.asked.stop;
      result.chosen = &chosen[i];
      result.finish = std::find(stop.begin(), stop.end(), next) != stop.end() ? finish_reason::stop
                      : sequence.generated == sequence.asked.max_tokens       ? finish_reason::length
                                                                              : finish_reason::none;
    }
    sampled_.push_back({result.sequence, chosen[i].which, result.ended(), chosen[i].valid});
    sequence.gone = result.ended();
    if (sequence.gone) known_.erase(result.sequence);
    results_.push_back(result);
  }
  sequences.clear();
  first_ = (first_ + 1) % choices_.size();
  scheduler_.done(sampled_);
  return results_;
}

void sequence_batch::fail_steps() {
  for (auto& c : choices_) c.sequences.clear();
  scheduler_.fail();
}

}  // namespace troupe::llm
