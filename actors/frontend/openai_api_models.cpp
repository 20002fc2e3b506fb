// Models and tokens of the OpenAI API.
#include <fmt/format.h>

#include <algorithm>

#include "actors/frontend/openai_api.hpp"
#include "transport/openai/models.hpp"
#include "transport/openai/tokenize.hpp"

namespace troupe {
namespace {

void answer(http_reply& reply, std::string body) {
  http_response r;
  r.body = std::move(body);
  reply.send(std::move(r));
}

openai::model_card card_of(const encoder_spec& e, std::chrono::sys_seconds since) {
  return {e.name, e.path, {}, since, e.lengths.back().tokens};
}

}  // namespace

void openai_api::list(uint32_t tenant, http_reply reply) const {
  const auto& models = parts_.cluster.llms;
  const auto& known = parts_.node.language_models();
  const auto longest = [&](llm_id model) { return known.find(models[model.value].name)->max_model_len; };
  std::vector<openai::model_card> cards;
  for (uint32_t i = 0; i < models.size(); ++i)
    if (may_use(tenant, models[i].name, llm_id{i}))
      cards.push_back({models[i].name, models[i].path, {}, started_, longest(llm_id{i})});
  for (const auto& a : known.adapters())
    if (may_use(tenant, a.what.name, a.model))
      cards.push_back({a.what.name, a.what.path, models[a.model.value].name, started_, longest(a.model)});
  for (const auto& e : parts_.cluster.encoders)
    if (parts_.keys.may_see(tenant, e.name)) cards.push_back(card_of(e, started_));
  answer(reply, openai::format_models(cards));
}

void openai_api::describe(const std::string& name, uint32_t tenant, http_reply reply) const {
  const auto& encoders = parts_.cluster.encoders;
  const auto encoder = std::ranges::find(encoders, name, &encoder_spec::name);
  if (encoder != encoders.end() && parts_.keys.may_see(tenant, name))
    return answer(reply, openai::format_model(card_of(*encoder, started_)));
  const auto found = find(name, tenant);
  if (!found) return refuse(reply, found.error());
  openai::model_card card{name, found->spec->path, {}, started_, found->target.max_model_len};
  if (!found->target.adapter.empty()) {
    card.parent = found->spec->name;
    for (const auto& a : parts_.node.language_models().adapters())
      if (a.model == found->target.model && a.what.name == name) card.root = a.what.path;
  }
  answer(reply, openai::format_model(card));
}

void openai_api::tokenize(const http_request& request, http_reply reply) const {
  const auto asked = openai::parse_tokenize(request.body);
  if (!asked) return refuse(reply, asked.error());
  const auto of = find(asked->model, request.tenant);
  if (!of) return refuse(reply, of.error());
  const auto tokens = asked->prompt ? encode(*of, *asked->prompt, asked->add_special_tokens, "prompt")
                                    : tokens_of_chat(*of, asked->messages, asked->add_generation_prompt,
                                                     asked->template_variables, asked->add_special_tokens);
  if (!tokens) return refuse(reply, tokens.error());
  std::vector<std::string> names;
  std::optional<std::span<const std::string>> shown;
  if (asked->return_token_strs) {
    for (const auto t : *tokens) names.push_back(of->words->words->name(t));
    shown = names;
  }
  answer(reply, openai::format_tokenize(*tokens, shown, of->target.max_model_len));
}

void openai_api::detokenize(const http_request& request, http_reply reply) const {
  const auto asked = openai::parse_detokenize(request.body);
  if (!asked) return refuse(reply, asked.error());
  const auto of = find(asked->model, request.tenant);
  if (!of) return refuse(reply, of.error());
  if (of->target.vocabulary == 0) return refuse(reply, not_ready(*of));
  if (const auto bad = of->target.first_unknown_token(asked->tokens))
    return refuse(reply, {400, fmt::format("tokens: the vocabulary has no token {}", *bad), "tokens", {}});
  answer(reply, openai::format_detokenize(of->words->words->decode(asked->tokens, false)));
}

}  // namespace troupe
