#include "tools/text_generator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/request_refused.hpp"

namespace troupe::llm {

std::string_view to_string(finish f) {
  switch (f) {
    case finish::stop: return "stop";
    case finish::length: return "length";
    case finish::error: return "error";
    default: return "";
  }
}

namespace {

batching_limits with_cache_of(const decoder& d, batching_limits limits) {
  limits.blocks = d.options().blocks;
  limits.block_tokens = d.options().block_tokens;
  return limits;
}

bool has_penalties(const kernels::sampling_parameters& p) {
  return p.repetition_penalty != 1 || p.presence_penalty != 0 || p.frequency_penalty != 0;
}

}  // namespace

text_generator::text_generator(decoder& d, batching_limits limits)
    : decoder_(d), batching_(with_cache_of(d, limits)) {}

sequence_id text_generator::add(text_request r) {
  const auto& model = decoder_.config();
  for (size_t i = 0; i < r.prompt.size(); ++i)
    if (r.prompt[i] < 0 || static_cast<uint32_t>(r.prompt[i]) >= model.vocabulary)
      throw request_refused(fmt::format("token {} of the prompt is {}; the model's are 0 to {}", i,
                                        r.prompt[i], model.vocabulary - 1));
  for (const auto p : r.logits_at)
    if (p >= r.prompt.size())
      throw request_refused(
          fmt::format("logits are wanted after position {} of a prompt of {} tokens", p, r.prompt.size()));
  // what is chosen last is never computed
  if (!r.prompt.empty() && r.prompt.size() - 1 + r.max_tokens > model.max_positions)
    throw request_refused(
        fmt::format("{} tokens of prompt and {} to generate are more than the model's {} positions",
                    r.prompt.size(), r.max_tokens, model.max_positions));
  const auto id = sequence_id{next_id_++};
  switch (batching_.add({id, r.prompt, r.max_tokens, r.adapter})) {
    case continuous_batching::refusal::empty:
      throw request_refused("a text needs a prompt, and a token to generate");
    case continuous_batching::refusal::too_long:
      throw request_refused(fmt::format("{} tokens of prompt and {} to generate do not fit into the KV cache",
                                        r.prompt.size(), r.max_tokens));
    case continuous_batching::refusal::queue_full: throw request_refused("too many texts wait already");
    case continuous_batching::refusal::none: break;
  }
  auto& t = known_[id];
  t.request = std::move(r);
  if (has_penalties(t.request.sampling))
    for (const auto p : t.request.prompt) ++t.count(p).prompt;
  t.text.logits.resize(t.request.logits_at.size());
  return id;
}

void text_generator::forget(sequence_id id) {
  batching_.cancel(id);
  known_.erase(id);
}

bool text_generator::step() {
  const auto& step = batching_.plan();
  if (step.rows() == 0) return false;
  decoder_.run(step, 0, decoder_.config().layers + 1, activation_);
  keep_logits(step);
  const size_t vocabulary = decoder_.config().vocabulary;
  logits_.resize(step.sampled.size() * vocabulary);
  decoder_.head(activation_, step.sampled, logits_);
  chosen_.clear();
  for (size_t i = 0; i < step.sampled.size(); ++i)
    chosen_.push_back(choose(step.sequences[step.row_sequence[step.sampled[i]]],
                             std::span{logits_}.subspan(i * vocabulary, vocabulary)));
  batching_.done(chosen_);
  return true;
}

void text_generator::keep_logits(const llm_step& step) {
  wanted_.clear();
  wanted_rows_.clear();
  for (uint32_t row = 0; row < step.rows(); ++row) {
    auto& t = known_.at(step.sequences[step.row_sequence[row]]);
    const auto& at = t.request.logits_at;
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

kernels::token_count& text_generator::open_text::count(token t) {
  const auto [at, fresh] = count_of.try_emplace(static_cast<uint32_t>(t), counts.size());
  if (fresh) counts.push_back({.token = static_cast<uint32_t>(t)});
  return counts[at->second];
}

sampled_token text_generator::choose(sequence_id id, std::span<const float> logits) {
  auto& t = known_.at(id);
  const auto chosen = kernels::sampling({.logits = logits.data(),
                                         .vocabulary = static_cast<uint32_t>(logits.size()),
                                         .parameters = t.request.sampling,
                                         .counts = t.counts.data(),
                                         .count_entries = t.counts.size(),
                                         .biases = nullptr,
                                         .bias_entries = 0,
                                         .position = t.request.prompt.size() + t.text.tokens.size(),
                                         .top = nullptr,
                                         .top_entries = 0});
  if (chosen.token == kernels::no_token) {
    t.text.reason = finish::error;
    return {id, 0, true};
  }
  const auto next = static_cast<token>(chosen.token);
  t.text.tokens.push_back(next);
  if (has_penalties(t.request.sampling)) ++t.count(next).output;
  const auto& stop = t.request.stop;
  if (std::find(stop.begin(), stop.end(), next) != stop.end())
    t.text.reason = finish::stop;
  else if (t.text.tokens.size() == t.request.max_tokens)
    t.text.reason = finish::length;
  return {id, next, t.text.reason != finish::none};
}

}  // namespace troupe::llm
