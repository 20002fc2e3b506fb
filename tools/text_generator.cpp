#include "tools/text_generator.hpp"

#include <fmt/format.h>

#include "gpu/llm/choose_tokens.hpp"
#include "gpu/request_refused.hpp"

namespace troupe::llm {

namespace {

batching_limits with_cache_of(const decoder& d, batching_limits limits) {
  limits.blocks = d.options().blocks;
  limits.block_tokens = d.options().block_tokens;
  return limits;
}

}  // namespace

text_generator::text_generator(decoder& d, batching_limits limits)
    : decoder_(d), texts_(with_cache_of(d, limits)) {}

sequence_id text_generator::add(text_request r, std::vector<uint32_t> logits_at) {
  const auto& model = decoder_.config();
  for (size_t i = 0; i < r.prompt.size(); ++i)
    if (r.prompt[i] < 0 || static_cast<uint32_t>(r.prompt[i]) >= model.vocabulary)
      throw request_refused(fmt::format("token {} of the prompt is {}; the model's are 0 to {}", i,
                                        r.prompt[i], model.vocabulary - 1));
  for (const auto p : logits_at)
    if (p >= r.prompt.size())
      throw request_refused(
          fmt::format("logits are wanted after position {} of a prompt of {} tokens", p, r.prompt.size()));
  // what is chosen last is never computed
  if (!r.prompt.empty() && r.prompt.size() - 1 + r.max_tokens > model.max_positions)
    throw request_refused(
        fmt::format("{} tokens of prompt and {} to generate are more than the model's {} positions",
                    r.prompt.size(), r.max_tokens, model.max_positions));
  const auto prompt = r.prompt.size();
  const auto max_tokens = r.max_tokens;
  const auto [id, refused] = texts_.add(std::move(r));
  switch (refused) {
    case text_batch::refusal::empty: throw request_refused("a text needs a prompt, and a token to generate");
    case text_batch::refusal::too_long:
      throw request_refused(fmt::format("{} tokens of prompt and {} to generate do not fit into the KV cache",
                                        prompt, max_tokens));
    case text_batch::refusal::queue_full: throw request_refused("too many texts wait already");
    case text_batch::refusal::none: break;
  }
  auto& t = known_[id];
  t.text.logits.resize(logits_at.size());
  t.logits_at = std::move(logits_at);
  return id;
}

void text_generator::forget(sequence_id id) {
  texts_.cancel(id);
  known_.erase(id);
}

bool text_generator::step() {
  const auto& step = texts_.plan();
  if (step.rows() == 0) return false;
  decoder_.run(step, 0, decoder_.config().layers + 1, activation_);
  keep_logits(step);
  const auto vocabulary = decoder_.config().vocabulary;
  logits_.resize(step.sampled.size() * vocabulary);
  decoder_.head(activation_, step.sampled, logits_);
  choose_tokens(logits_, vocabulary, texts_.wishes(), chosen_);
  for (const auto& got : texts_.done(chosen_)) {
    auto& text = known_.at(got.text).text;
    text.reason = got.finish;
    text.failed = got.chosen == nullptr;
    if (!text.failed) text.tokens.push_back(got.chosen->which);
  }
  return true;
}

void text_generator::keep_logits(const llm_step& step) {
  wanted_.clear();
  wanted_rows_.clear();
  for (uint32_t row = 0; row < step.rows(); ++row) {
    auto& t = known_.at(step.sequences[step.row_sequence[row]]);
    const auto& at = t.logits_at;
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i] != step.positions[row] || !t.text.logits[i].empty()) continue;  // or it was evicted since
      wanted_.push_back(&t.text.logits[i]);
      wanted_rows_.push_back(row);
    }
  }
  if (wanted_.empty()) return;
  const size_t vocabulary = decoder_.config().vocabulary;
  logits_.resize(wanted_.size() * vocabulary);
  decoder_.head(activation_, wanted_rows_, logits_);
  for (size_t i = 0; i < wanted_.size(); ++i) {
    const auto row = std::span{logits_}.subspan(i * vocabulary, vocabulary);
    wanted_[i]->assign(row.begin(), row.end());
  }
}

}  // namespace troupe::llm
