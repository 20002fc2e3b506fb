#include "actors/frontend/encoder_api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "actors/frontend/completion_answer.hpp"
#include "gpu/encoder/encoder_inputs.hpp"
#include "transport/openai/embedding.hpp"
#include "transport/openai/rerank.hpp"

namespace troupe {
namespace {

/// Longer texts are refused, or cut, before they are tokenized, which would delay other clients.
constexpr size_t most_bytes_of_token = 256;

void send_error(http_reply& reply, const openai::error& why) { reply.send(openai::error_response(why)); }

/// How many tokens of a text may remain; nothing: no text may be cut.
using cut = std::optional<size_t>;

openai::result<cut> cut_to(const std::optional<int64_t>& asked, size_t least, size_t most) {
  if (!asked) return cut{};
  const auto limit = *asked == -1 ? most : std::min<size_t>(most, static_cast<size_t>(*asked));
  if (limit < least)
    return openai::error{
        400, fmt::format("truncate_prompt_tokens: must be at least {} for this model", least),
        "truncate_prompt_tokens", {}};
  return cut{limit};
}

openai::error too_long(const std::string& field, size_t tokens, size_t most) {
  return {400,
          fmt::format("{}: has {} tokens; this model's maximum context length is {} tokens; shorten it, or set "
                      "truncate_prompt_tokens",
                      field, tokens, most),
          field, "context_length_exceeded"};
}

/// A tokenized text, or pair, or why it does not fit. `bytes`: of its text.
template <class Encode>
openai::result<llm::encoded_text> fitting(const std::string& field, size_t bytes, const cut& to, size_t most,
                                          Encode&& encode) {
  if (!to && bytes > most * most_bytes_of_token)
    return openai::error{400,
                         fmt::format("{}: {} bytes are too long: this model's maximum context length is {} "
                                     "tokens",
                                     field, bytes, most),
                         field, "context_length_exceeded"};
  auto out = encode(to.value_or(most));
  if (!to && out.cut > 0) return too_long(field, out.ids.size() + out.cut, most);
  return out;
}

std::string_view head_of(const std::string& text, size_t tokens) {
  return std::string_view(text).substr(0, tokens * most_bytes_of_token);
}

openai::result<llm::encoded_text> given_tokens(const std::vector<llm::token>& ids, const std::string& field,
                                               const cut& to, size_t most, uint32_t vocabulary) {
  for (const auto t : ids)
    if (static_cast<uint32_t>(t) >= vocabulary)
      return openai::error{400, fmt::format("{}: the vocabulary has no token {}", field, t), field, {}};
  if (!to && ids.size() > most) return too_long(field, ids.size(), most);
  llm::encoded_text out;
  const auto n = std::min(ids.size(), to.value_or(most));
  out.ids.assign(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n));
  out.types.assign(n, 0);
  return out;
}

/// The first numbers of an embedding, again of length 1 if the whole one is.
void cut_dimensions(std::vector<float>& e, uint32_t dimensions, bool normalise) {
  e.resize(dimensions);
  double square = 0;
  for (const auto x : e) square += double{x} * x;
  if (!normalise || square == 0) return;
  for (auto& x : e) x = static_cast<float>(x / std::sqrt(square));
}

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

uint64_t tokens_of(std::span<const llm::encoded_text> texts) {
  uint64_t n = 0;
  for (const auto& t : texts) n += t.ids.size();
  return n;
}

}  // namespace

void encoder_api::add_to(http_router& routes) {
  routes.add("POST", "/v1/embeddings", [this](const http_request& request, auto&, http_reply reply) {
    embed(request, std::move(reply));
  });
  for (const auto* path : {"/v1/rerank", "/rerank"})
    routes.add("POST", path, [this](const http_request& request, auto&, http_reply reply) {
      rerank(request, std::move(reply));
    });
}

openai::result<encoder_api::chosen> encoder_api::find(const std::string& name, uint32_t tenant) const {
  const auto& all = parts_.cluster.encoders;
  const auto& called = name.empty() && all.size() == 1 ? all.front().name : name;
  const auto found = std::ranges::find(all, called, &encoder_spec::name);
  if (found == all.end() || !parts_.keys.may_see(tenant, called)) return openai::model_not_found(called);
  return chosen{&*found, &parts_.encoders[static_cast<size_t>(found - all.begin())]};
}

void encoder_api::embed(const http_request& request, http_reply reply) {
  const auto arrival = parts_.time.now();
  const auto asked = openai::parse_embedding(request.body);
  if (!asked) return send_error(reply, asked.error());
  const auto to = find(asked->model, request.tenant);
  if (!to) return send_error(reply, to.error());
  const auto& [config, words] = *to->of;
  if (config.reranks())
    return send_error(reply, {400,
                          fmt::format("model '{}' scores pairs of texts and has no embeddings; use /v1/rerank",
                                      to->spec->name),
                          "model", {}});
  const auto dimensions = asked->dimensions.value_or(config.hidden);
  if (dimensions > config.hidden)
    return send_error(reply, {400, fmt::format("dimensions: this model's embeddings have {}", config.hidden),
                          "dimensions", {}});
  const auto limit = cut_to(asked->truncate_tokens, words->added(false) + 1, to->most());
  if (!limit) return send_error(reply, limit.error());
  std::vector<llm::encoded_text> texts;
  for (size_t i = 0; i < asked->inputs.size(); ++i) {
    const auto field = fmt::format("input[{}]", i);
    const auto* text = std::get_if<std::string>(&asked->inputs[i]);
    auto one = text == nullptr
                   ? given_tokens(std::get<std::vector<llm::token>>(asked->inputs[i]), field, *limit, to->most(),
                                  config.vocabulary)
                   : fitting(field, text->size(), *limit, to->most(), [&](size_t most) {
                       return words->encode(head_of(*text, most), most);
                     });
    if (!one) return send_error(reply, one.error());
    texts.push_back(std::move(*one));
  }
  const auto tokens = tokens_of(texts);
  const auto id = std::to_string(parts_.node.next_request_id().value);
  submit(*to, std::move(texts), request.tenant, arrival, std::move(reply),
         [=, name = to->spec->name, base64 = asked->base64, whole = config.hidden,
          normalise = config.normalise](std::vector<std::vector<float>> all) {
           if (dimensions < whole)
             for (auto& e : all) cut_dimensions(e, dimensions, normalise);
           return openai::format_embeddings(all, id, name, base64, tokens);
         });
}

void encoder_api::rerank(const http_request& request, http_reply reply) {
  const auto arrival = parts_.time.now();
  auto asked = openai::parse_rerank(request.body);
  if (!asked) return send_error(reply, asked.error());
  const auto to = find(asked->model, request.tenant);
  if (!to) return send_error(reply, to.error());
  const auto& [config, words] = *to->of;
  if (config.labels != 1)
    return send_error(reply, {400,
                          fmt::format("model '{}' does not score pairs of texts: {}", to->spec->name,
                                      config.reranks() ? fmt::format("it has {} labels", config.labels)
                                                       : "it has embeddings; use /v1/embeddings"),
                          "model", {}});
  const auto limit = cut_to(asked->truncate_tokens, words->added(true) + 2, to->most());
  if (!limit) return send_error(reply, limit.error());
  std::vector<llm::encoded_text> texts;
  for (size_t i = 0; i < asked->documents.size(); ++i) {
    const auto& document = asked->documents[i];
    auto one = fitting(fmt::format("documents[{}]", i), asked->query.size() + document.size(), *limit, to->most(),
                       [&, w = words.get()](size_t most) {
                         return w->encode(head_of(asked->query, most), head_of(document, most), most);
                       });
    if (!one) return send_error(reply, one.error());
    texts.push_back(std::move(*one));
  }
  const auto tokens = tokens_of(texts);
  const auto id = std::to_string(parts_.node.next_request_id().value);
  submit(*to, std::move(texts), request.tenant, arrival, std::move(reply),
         [tokens, id, name = to->spec->name, asked = std::move(*asked)](const std::vector<std::vector<float>>& all) {
           std::vector<float> scores;
           for (const auto& logits : all) scores.push_back(sigmoid(logits.front()));
           return openai::format_rerank(asked, scores, id, name, tokens);
         });
}

/// The model of the shortest length that the text fits into and that is served; null: there is none.
catalog::view encoder_api::model_for(const chosen& to, size_t tokens) const {
  for (const auto& l : to.spec->lengths) {
    if (l.tokens < tokens) continue;
    auto model = parts_.node.models().find(parts_.cluster.models[l.model.value].name);
    if (model && !model->signature.inputs.empty()) return model;
  }
  return {};
}

openai::result<encoder_api::text_request> encoder_api::prepare(const chosen& to, llm::encoded_text text) const {
  auto model = model_for(to, text.ids.size());
  if (!model)
    return openai::error{503, fmt::format("model '{}' is still loading", to.spec->name), {}, "no_capacity"};
  const auto tokens = static_cast<uint32_t>(model->signature.inputs.front().shape.front());
  const auto inputs = encoder_inputs({&text, 1}, tokens, to.of->config.padding, to.of->config.types > 1);
  const auto bytes = std::as_bytes(std::span{inputs});
  auto room = parts_.node.pool().take(bytes.size());
  if (!room) return completion_refusal(outcome::dropped(drop_reason::queue_full));
  std::memcpy(room->payload.data(), bytes.data(), bytes.size());
  return text_request{std::move(model), std::move(text), std::move(*room)};
}

void encoder_api::submit(const chosen& to, std::vector<llm::encoded_text> texts, uint32_t tenant,
                         time_point arrival, http_reply reply, encoder_answer::format format) {
  // The gateway has the same bound; here it also covers requests on their way to it.
  if (parts_.clients.waiting_now() + texts.size() > parts_.cluster.limits.requests_in_flight)
    return send_error(reply, completion_refusal(outcome::dropped(drop_reason::queue_full)));
  std::vector<text_request> all;
  for (auto& t : texts) {
    auto one = prepare(to, std::move(t));
    if (!one) {
      for (const auto& ready : all) parts_.node.pool().give_back(ready.input.region);
      return send_error(reply, one.error());
    }
    all.push_back(std::move(*one));
  }
  std::vector<request> requests;
  for (const auto& t : all) {
    request r;
    r.id = parts_.node.next_request_id();
    r.model = t.model->model;
    r.tenant = tenant;
    r.arrival = arrival;
    r.deadline = arrival + t.model->slo;
    r.input = t.input.region;
    requests.push_back(r);
  }
  auto answer = std::make_shared<encoder_answer>(std::move(reply), all.size(), std::move(format));
  auto& node = parts_.node;
  for (size_t i = 0; i < all.size(); ++i) {
    http_clients::waiting w{http_reply(nullptr), std::move(all[i].model), {}, parts_.time.now()};
    w.asked.rows = 1;
    w.taker = [answer, i](const outcome& how, auto) { answer->take(i, how); };
    parts_.clients.expect(requests[i].id, std::move(w));
  }
  std::vector<request_id> ids;
  for (const auto& r : requests) ids.push_back(r.id);
  answer->reply().on_cancel([&node, ids] {
    for (const auto id : ids) node.to_gateway(client_gone{id});
  });
  for (const auto& r : requests) node.to_gateway(client_request{r});
}

}  // namespace troupe
