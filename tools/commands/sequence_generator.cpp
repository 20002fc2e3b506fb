#include "tools/commands/sequence_generator.hpp"

#include <fmt/format.h>

#include "gpu/common/request_refused.hpp"
#include "gpu/llm/choose_tokens.hpp"

namespace troupe::llm {

namespace {

scheduler_limits with_cache_of(const decoder& d, scheduler_limits limits) {
  limits.blocks = d.options().blocks;
  limits.block_tokens = d.options().block_tokens;
  return limits;
}

}  // namespace

sequence_generator::sequence_generator(decoder& d, scheduler_limits limits)
    : decoder_(d), sequences_(with_cache_of(d, limits)) {}

sequence_id sequence_generator::add(sequence_request r, std::vector<uint32_t> logits_at) {
  const auto& model = decoder_.config();
  for (size_t i = 0; i < r.prompt.size(); ++i)
    if (r.prompt[i] < 0 || static_cast<uint32_t>(r.prompt[i]) >= model.vocabulary)
      throw request_refused(fmt::format("token {} of the prompt is {}; the model's are 0 to {}", i,
                                        r.prompt[i], model.vocabulary - 1));
  for (const auto p : logits_at)
    if (p >= r.prompt.size())
      throw request_refused(
          fmt::format("logits are requested after position {} of a prompt of {} tokens", p, r.prompt.size()));
  // the last sampled token is never computed
  if (!r.prompt.empty() && r.prompt.size() - 1 + r.max_tokens > model.max_positions)
    throw request_refused(
        fmt::format("{} tokens of prompt and {} to generate exceed the model's {} positions", r.prompt.size(),
                    r.max_tokens, model.max_positions));
  const auto prompt = r.prompt.size();
  const auto max_tokens = r.max_tokens;
  const auto [id, refused] = sequences_.add(std::move(r));
  switch (refused) {
    case sequence_batch::refusal::empty:
      throw request_refused("a sequence needs a prompt, and a token to generate");
    case sequence_batch::refusal::too_long:
      throw request_refused(fmt::format("{} tokens of prompt and {} to generate do not fit into the KV cache",
                                        prompt, max_tokens));
    case sequence_batch::refusal::queue_full: throw request_refused("too many sequences wait already");
    case sequence_batch::refusal::none: break;
  }
  auto& t = known_[id];
  t.sequence.logits.resize(logits_at.size());
  t.logits_at = std::move(logits_at);
  return id;
}

void sequence_generator::forget(sequence_id id) {
  sequences_.cancel(id);
  known_.erase(id);
}

bool sequence_generator::step() {
  const auto& step = sequences_.plan();
  if (step.rows() == 0) return false;
  decoder_.run(step, 0, decoder_.config().layers + 1, activation_);
  keep_logits(step);
  const auto vocabulary = decoder_.config().vocabulary;
  logits_.resize(step.sampled.size() * vocabulary);
  decoder_.head(activation_, step.sampled, logits_);
  choose_tokens(logits_, vocabulary, sequences_.samplings(), chosen_);
  for (const auto& got : sequences_.done(chosen_)) {
    auto& sequence = known_.at(got.sequence).sequence;
    sequence.reason = got.finish;
    sequence.failed = got.chosen == nullptr;
    if (!sequence.failed) sequence.tokens.push_back(got.chosen->which);
  }
  return true;
}

void sequence_generator::keep_logits(const llm_step& step) {
  wanted_.clear();
  wanted_rows_.clear();
  for (uint32_t row = 0; row < step.rows(); ++row) {
    auto& t = known_.at(step.sequences[step.row_sequence[row]]);
    const auto& at = t.logits_at;
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i] != step.positions[row] || !t.sequence.logits[i].empty())
        continue;  // or it was preempted meanwhile
      wanted_.push_back(&t.sequence.logits[i]);
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
