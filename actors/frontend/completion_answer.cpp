#include "actors/frontend/completion_answer.hpp"

#include "actors/frontend/http_clients.hpp"
#include "transport/openai/json_append.hpp"

namespace troupe {

openai::error completion_refusal(const outcome& how) {
  const auto r = refusal_of(how);
  if (how.reason == drop_reason::undeployed)
    return {404, "the model or adapter is no longer served", "model", "model_not_found"};
  const bool adapter = how.error == failure::adapter_unusable;
  return {r.status, r.text, adapter ? "model" : "", r.reason};
}

completion_answer::completion_answer(options o, std::shared_ptr<const tokenizer_bundle> of, http_reply reply)
    : options_(std::move(o)), language_(std::move(of)), reply_(std::move(reply)) {
  if (options_.stream) events_.emplace(head(), options_.include_usage);
}

openai::answer_head completion_answer::head() const {
  return {options_.kind, options_.id, options_.created, options_.model};
}

void completion_answer::add_prompt(request_id id, const std::vector<llm::token>& prompt,
                                   const std::string& echo) {
  requests_.push_back(id);
  ++unfinished_;
  usage_.prompt_tokens += prompt.size();
  for (uint32_t i = 0; i < options_.choices; ++i)
    choices_.push_back({llm::detokenizer(language_->words, prompt, options_.skip_special_tokens),
                        stop_strings(options_.stop, options_.include_stop),
                        echo,
                        {},
                        openai::character_count(echo)});
}

bool completion_answer::token(size_t prompt, const generated_token& t) {
  const auto index = static_cast<uint32_t>(prompt * options_.choices + t.choice);
  auto& c = choices_.at(index);
  ++usage_.completion_tokens;
  if (t.choice == 0) usage_.cached_tokens += t.cached;  // prompts are counted once, whatever the choices
  // a stop token is counted, but not shown
  const bool silent = t.finish == finish_reason::stop && !options_.include_stop;
  auto piece = silent ? std::string() : c.spoken.add(t.which);
  if (t.finish != finish_reason::none) piece += c.spoken.finish();
  if (options_.logprobs) keep(c, t, piece);
  auto shown = c.stops.add(piece);
  c.finish = c.stops.found() ? finish_reason::stop : t.finish;
  if (c.finish != finish_reason::none) shown += c.stops.finish();
  if (options_.stream)
    stream(index, shown);
  else
    c.text += shown;
  return c.stops.found();
}

void completion_answer::keep(choice& c, const generated_token& t, std::string_view piece) {
  kept_token k{text_of(*language_, t.which), t.logprob, {}, c.characters};
  for (const auto& alternative : t.top)
    k.top.emplace_back(text_of(*language_, alternative.which), alternative.logprob);
  c.tokens.push_back(std::move(k));
  c.characters += openai::character_count(piece);
}

/// The views are valid until the next call, or until the choice changes.
openai::completion_choice completion_answer::piece_of(const choice& c, uint32_t index,
                                                      std::string_view text) {
  openai::completion_choice out{index, text, {}, c.finish};
  if (!options_.logprobs) return out;
  size_t count = 0;
  for (const auto& k : c.tokens) count += k.top.size();
  alternatives_.clear();
  alternatives_.reserve(count);  // reallocation would invalidate the spans
  reports_.clear();
  for (const auto& k : c.tokens) {
    const auto first = alternatives_.size();
    for (const auto& [other, logprob] : k.top) alternatives_.push_back({other, other, logprob});
    reports_.push_back({{k.text, k.text, k.logprob},
                        {alternatives_.data() + first, alternatives_.size() - first},
                        k.offset});
  }
  out.logprobs = reports_;
  return out;
}

void completion_answer::stream(uint32_t index, std::string_view text) {
  auto& c = choices_[index];
  std::string event;
  if (!c.started) {
    c.started = true;
    events_->append_begin(event, index);
    if (!c.text.empty()) events_->append_delta(event, {index, c.text, {}, finish_reason::none});
  }
  events_->append_delta(event, piece_of(c, index, text));
  c.tokens.clear();
  if (stream_)
    stream_->write(std::move(event));
  else
    begin_stream(std::move(event));
}

/// Called at the first token: earlier failures are answered with an HTTP status.
void completion_answer::begin_stream(std::string first) {
  http_response r;
  r.content_type = "text/event-stream";
  r.headers.add("Cache-Control", "no-cache");
  r.headers.add(request_id_header, std::to_string(requests_.front().value));
  r.body = std::move(first);
  stream_.emplace(reply_.begin(std::move(r)));
}

bool completion_answer::ended(const outcome& how) {
  if (over_) return true;
  if (how.kind != outcome_kind::finished) {
    over_ = true;
    const auto why = completion_refusal(how);
    if (stream_) {
      std::string event;
      openai::append_error_event(event, why);
      openai::append_done(event);
      stream_->write(std::move(event));
      stream_->end();
    } else {
      auto r = openai::error_response(why, how.retry_after);
      r.headers.add(request_id_header, std::to_string(requests_.front().value));
      reply_.send(std::move(r));
    }
    return true;
  }
  if (--unfinished_ > 0) return false;
  over_ = true;
  options_.stream ? finish_stream() : answer();
  return true;
}

void completion_answer::finish_stream() {
  std::string end;
  if (options_.include_usage) events_->append_usage(end, usage_);
  openai::append_done(end);
  stream_->write(std::move(end));
  stream_->end();
}

void completion_answer::answer() {
  http_response r;
  r.headers.add(request_id_header, std::to_string(requests_.front().value));
  // each choice needs reports of its own until the document is written
  std::vector<std::vector<openai::token_report>> reports;
  std::vector<std::vector<openai::token_alternative>> alternatives;
  std::vector<openai::completion_choice> choices;
  for (uint32_t i = 0; i < choices_.size(); ++i) {
    choices.push_back(piece_of(choices_[i], i, choices_[i].text));
    if (!options_.logprobs) continue;
    reports.push_back(std::move(reports_));  // a move keeps the spans valid
    alternatives.push_back(std::move(alternatives_));
    choices.back().logprobs = reports.back();
  }
  openai::append_answer(r.body, head(), choices, usage_);
  reply_.send(std::move(r));
}

}  // namespace troupe
