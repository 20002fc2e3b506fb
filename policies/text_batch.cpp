#include "policies/text_batch.hpp"

#include <algorithm>
#include <utility>

namespace troupe::llm {

token_frequency& text_batch::open_text::count(token t) {
  const auto [at, fresh] = place.try_emplace(t, counts.size());
  if (fresh) counts.push_back({.which = t});
  return counts[at->second];
}

text_batch::added text_batch::add(text_request r) {
  const auto id = sequence_id{next_id_};
  auto so_far = r.prompt;
  so_far.insert(so_far.end(), r.begun.begin(), r.begun.end());
  const auto generated = static_cast<uint32_t>(std::min<size_t>(r.begun.size(), r.max_tokens));
  auto text = std::make_shared<open_text>();
  text->asked = std::move(r);
  text->generated = generated;
  const auto& asked = text->asked;
  const auto refused = batching_.add({id, std::move(so_far), asked.max_tokens - generated, asked.adapter,
                                      asked.priority, asked.turn, asked.due, asked.tpot});
  if (refused != refusal::none) return {{}, refused};
  ++next_id_;
  if (text->has_penalties()) {
    for (const auto t : text->asked.prompt) ++text->count(t).prompt;
    for (const auto t : text->asked.begun) ++text->count(t).output;
  }
  known_.emplace(id, std::move(text));
  return {id, refusal::none};
}

void text_batch::cancel(sequence_id id) {
  batching_.cancel(id);
  const auto found = known_.find(id);
  if (found == known_.end()) return;
  found->second->gone = true;
  known_.erase(found);
}

const llm_step& text_batch::plan(const outlook& o) {
  planned_ = (first_ + batching_.under_way()) % choices_.size();
  auto& [wishes, counts, texts] = choices_[planned_];
  const auto& step = batching_.plan(o);
  wishes.clear();
  counts.clear();
  texts.clear();
  for (const auto row : step.sampled) {
    const auto& text = texts.emplace_back(known_.at(step.sequences[step.row_sequence[row]]));
    counts.insert(counts.end(), text->counts.begin(), text->counts.end());
    wishes.push_back(
        {&text->asked.how, text->asked.how.seed, {}, step.positions[row] + uint64_t{1}, text->asked.top});
  }
  auto* next = counts.data();
  for (size_t i = 0; i < wishes.size(); next += texts[i++]->counts.size())
    wishes[i].counts = {next, texts[i]->counts.size()};
  return step;
}

std::span<const text_batch::step_token> text_batch::done(std::span<const chosen_token> chosen) {
  sampled_.clear();
  told_.clear();
  const auto& step = batching_.step();
  auto& texts = choices_[first_].texts;
  for (size_t i = 0; i < texts.size() && i < chosen.size(); ++i) {
    auto& text = *texts[i];
    if (text.gone) continue;
    step_token told{step.sequences[step.row_sequence[step.sampled[i]]]};
    if (chosen[i].valid) {
      const auto next = chosen[i].which;
      ++text.generated;
      if (text.has_penalties()) ++text.count(next).output;
      const auto& stop = text.asked.stop;
      told.chosen = &chosen[i];
      told.finish = std::find(stop.begin(), stop.end(), next) != stop.end() ? finish_reason::stop
                    : text.generated == text.asked.max_tokens               ? finish_reason::length
                                                                            : finish_reason::none;
    }
    sampled_.push_back({told.text, chosen[i].which, told.ended()});
    text.gone = told.ended();
    if (text.gone) known_.erase(told.text);
    told_.push_back(told);
  }
  texts.clear();
  first_ = (first_ + 1) % choices_.size();
  batching_.done(sampled_);
  return told_;
}

void text_batch::fail_steps() {
  for (auto& c : choices_) c.texts.clear();
  batching_.fail();
}

}  // namespace troupe::llm
