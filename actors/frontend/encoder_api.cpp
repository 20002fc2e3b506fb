#include "actors/frontend/encoder_api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "actors/frontend/completion_answer.hpp"
#include "actors/frontend/tokenizing_route.hpp"
#include "gpu/common/request_refused.hpp"
#include "gpu/encoder/encoder_inputs.hpp"
#include "transport/openai/embedding.hpp"
#include "transport/openai/rerank.hpp"

namespace troupe {
namespace {

/// Longer texts are refused, or cut, before they are tokenized.
constexpr size_t max_bytes_of_token = 256, max_bytes_of_texts = 8 << 20;

void send_error(http_reply& reply, const openai::error& why) { reply.send(openai::error_response(why)); }

/// How many tokens of a text may remain; nothing: no text may be cut.
using cut = std::optional<size_t>;

openai::result<cut> cut_to(const std::optional<int64_t>& asked, size_t min, size_t max) {
  if (!asked) return cut{};
  const auto limit = *asked == -1 ? max : std::min<size_t>(max, static_cast<size_t>(*asked));
  if (limit >= min) return cut{limit};
  return openai::error{400,
                       fmt::format("truncate_prompt_tokens: must be at least {} for this model", min),
                       "truncate_prompt_tokens",
                       {}};
}

openai::error too_long(const std::string& field, std::string_view what, size_t max_tokens) {
  return {400,
          fmt::format("{}: has {}; this model's maximum context length is {} tokens; shorten it, or set "
                      "truncate_prompt_tokens",
                      field, what, max_tokens),
          field, "context_length_exceeded"};
}

/// Tokenizes the texts of one HTTP request, within bounds. Its errors are those of the client.
class text_reader {
 public:
  text_reader(const llm::encoder_tokenizer& words, const cut& to, size_t max_tokens)
      : tokenizer_(words), cut_(to), max_tokens_(max_tokens) {}

  /// The tokens of a text alone.
  openai::result<std::vector<llm::token>> tokens(const std::string& field, std::string_view text) {
    const auto max_bytes = max_tokens_ * max_bytes_of_token;
    if (!cut_ && text.size() > max_bytes)
      return too_long(field, fmt::format("{} bytes", text.size()), max_tokens_);
    text = text.substr(0, max_bytes);
    if ((bytes_ += text.size()) > max_bytes_of_texts)
      return openai::error{413,
                           fmt::format("{}: the texts have more than {} MiB together; send fewer", field,
                                       max_bytes_of_texts >> 20),
                           field,
                           {}};
    try {
      return tokenizer_.tokens(text);
    } catch (const request_refused& e) {
      return openai::error{400, fmt::format("{}: {}", field, e.what()), field, {}};
    }
  }
  /// Cuts it, or says why it does not fit.
  template <class... Texts>
  openai::result<llm::encoded_text> fit(const std::string& field, Texts&&... texts) const {
    auto out = tokenizer_.encode(std::forward<Texts>(texts)..., cut_.value_or(max_tokens_));
    if (out.ids.empty()) return openai::error{400, field + ": has no tokens", field, {}};
    if (cut_ || out.cut == 0) return out;
    return too_long(field, fmt::format("{} tokens", out.ids.size() + out.cut), max_tokens_);
  }
  /// Tokens of the client, as they are.
  openai::result<llm::encoded_text> fit_as_is(const std::string& field, std::vector<llm::token> ids,
                                              uint32_t vocabulary) const {
    for (const auto t : ids)
      if (static_cast<uint32_t>(t) >= vocabulary)
        return openai::error{400, fmt::format("{}: the vocabulary has no token {}", field, t), field, {}};
    if (!cut_ && ids.size() > max_tokens_)
      return too_long(field, fmt::format("{} tokens", ids.size()), max_tokens_);
    ids.resize(std::min(ids.size(), cut_.value_or(max_tokens_)));
    llm::encoded_text out;
    out.types.assign(ids.size(), 0);
    out.ids = std::move(ids);
    return out;
  }

 private:
  const llm::encoder_tokenizer& tokenizer_;
  const cut cut_;
  const size_t max_tokens_;
  size_t bytes_ = 0;
};

/// The first numbers of an embedding, again of length 1 if the whole one is.
void cut_dimensions(std::vector<float>& e, uint32_t dimensions, bool normalise) {
  e.resize(dimensions);
  double square = 0;
  for (const auto x : e) square += double{x} * x;
  if (!normalise || square == 0) return;
  for (auto& x : e) x = static_cast<float>(x / std::sqrt(square));
}

/// How many batches so many texts may take, with an incomplete one of each length.
uint64_t batches_of(size_t texts, const catalog::entry& model, size_t lengths) {
  return (texts + model.max_batch - 1) / model.max_batch + std::min(texts, lengths) - 1;
}

uint64_t tokens_of(std::span<const llm::encoded_text> texts) {
  uint64_t n = 0;
  for (const auto& t : texts) n += t.ids.size();
  return n;
}

}  // namespace

void encoder_api::add_to(http_router& routes) {
  const auto add = [&](const char* pattern, handler_pool::handler handle) {
    add_tokenizing_route(routes, pattern, parts_.long_bodies, std::move(handle));
  };
  add("/v1/embeddings",
      [this](const http_request& request, http_reply reply) { embed(request, std::move(reply)); });
  for (const auto* path : {"/v1/rerank", "/rerank"})
    add(path, [this](const http_request& request, http_reply reply) { rerank(request, std::move(reply)); });
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
  auto asked = openai::parse_embedding(request.body);
  if (!asked) return send_error(reply, asked.error());
  const auto to = find(asked->model, request.tenant);
  if (!to) return send_error(reply, to.error());
  const auto& [config, tokenizer] = *to->of;
  if (config.reranks())
    return send_error(reply,
                      {400,
                       fmt::format("model '{}' scores pairs of texts and has no embeddings; use /v1/rerank",
                                   to->spec->name),
                       "model",
                       {}});
  const auto dimensions = asked->dimensions.value_or(config.hidden);
  if (dimensions > config.hidden)
    return send_error(
        reply,
        {400, fmt::format("dimensions: this model's embeddings have {}", config.hidden), "dimensions", {}});
  const auto limit = cut_to(asked->truncate_tokens, tokenizer->added(false) + 1, to->max_tokens());
  if (!limit) return send_error(reply, limit.error());
  text_reader read(*tokenizer, *limit, to->max_tokens());
  std::vector<llm::encoded_text> texts;
  for (size_t i = 0; i < asked->inputs.size(); ++i) {
    const auto field = fmt::format("input[{}]", i);
    const auto one = [&]() -> openai::result<llm::encoded_text> {
      if (auto* ids = std::get_if<std::vector<llm::token>>(&asked->inputs[i]))
        return read.fit_as_is(field, std::move(*ids), config.vocabulary);
      auto tokens = read.tokens(field, std::get<std::string>(asked->inputs[i]));
      if (!tokens) return tokens.error();
      return read.fit(field, std::move(*tokens));
    }();
    if (!one) return send_error(reply, one.error());
    texts.push_back(*one);
  }
  submit(*to, texts, request.tenant, arrival, std::move(reply),
         [=, name = to->spec->name, base64 = asked->base64, whole = config.hidden, n = tokens_of(texts),
          normalise = config.normalise](std::vector<std::vector<float>> all, const std::string& id) {
           if (dimensions < whole)
             for (auto& e : all) cut_dimensions(e, dimensions, normalise);
           return openai::format_embeddings(all, id, name, base64, n);
         });
}

void encoder_api::rerank(const http_request& request, http_reply reply) {
  const auto arrival = parts_.time.now();
  auto asked = openai::parse_rerank(request.body);
  if (!asked) return send_error(reply, asked.error());
  const auto to = find(asked->model, request.tenant);
  if (!to) return send_error(reply, to.error());
  const auto& [config, tokenizer] = *to->of;
  if (config.labels != 1)
    return send_error(reply, {400,
                              fmt::format("model '{}' does not score pairs of texts: {}", to->spec->name,
                                          config.reranks() ? fmt::format("it has {} labels", config.labels)
                                                           : "it has embeddings; use /v1/embeddings"),
                              "model",
                              {}});
  const auto limit = cut_to(asked->truncate_tokens, tokenizer->added(true) + 2, to->max_tokens());
  if (!limit) return send_error(reply, limit.error());
  text_reader read(*tokenizer, *limit, to->max_tokens());
  const auto query = read.tokens("query", asked->query);
  if (!query) return send_error(reply, query.error());
  std::vector<llm::encoded_text> texts;
  for (size_t i = 0; i < asked->documents.size(); ++i) {
    const auto field = fmt::format("documents[{}]", i);
    auto document = read.tokens(field, asked->documents[i]);
    if (!document) return send_error(reply, document.error());
    const auto one = read.fit(field, *query, std::move(*document));
    if (!one) return send_error(reply, one.error());
    texts.push_back(*one);
  }
  if (!asked->return_documents) asked->documents.clear();
  submit(*to, texts, request.tenant, arrival, std::move(reply),
         [n = tokens_of(texts), name = to->spec->name, sigmoid = config.sigmoid, asked = std::move(*asked)](
             const std::vector<std::vector<float>>& all, const std::string& id) {
           std::vector<float> scores;
           for (const auto& logits : all)
             scores.push_back(sigmoid ? 1 / (1 + std::exp(-logits.front())) : logits.front());
           return openai::format_rerank(asked, scores, id, name, n);
         });
}

/// The model of the shortest length that the text fits into and that is served; null: there is none.
catalog::view encoder_api::model_for(const chosen& to, size_t tokens) const {
  for (const auto& l : to.spec->lengths) {
    if (l.tokens < tokens) continue;
    auto model = parts_.node.models().find(parts_.cluster.models[l.model.value].name);
    // the same file on all nodes; a worker with another one must not make inputs of another size
    if (model && takes_texts(model->signature, l.tokens)) return model;
  }
  return {};
}

openai::result<encoder_api::prepared_text> encoder_api::prepare(const chosen& to,
                                                                const llm::encoded_text& text) const {
  auto model = model_for(to, text.ids.size());
  if (!model)
    return openai::error{
        503,
        fmt::format("model '{}' has no worker now for texts of {} tokens", to.spec->name, text.ids.size()),
        {},
        "no_capacity"};
  const auto inputs = encoder_inputs({&text, 1}, to.of->config.padding, model->signature);
  auto room = parts_.node.pool().take(inputs.size());
  if (!room) return completion_refusal(outcome::dropped(drop_reason::queue_full));
  std::memcpy(room->payload.data(), inputs.data(), inputs.size());
  request r;
  r.model = model->model;
  r.input = room->region;
  return prepared_text{std::move(model), r, pool_lease(parts_.node.pool(), *room)};
}

std::optional<openai::error> encoder_api::too_many(const chosen& to,
                                                   const std::vector<llm::encoded_text>& texts) const {
  const auto& limits = parts_.cluster.limits;
  if (texts.size() > limits.requests_in_flight)
    return openai::error{413,
                         fmt::format("{} texts are more than limits.requests_in_flight = {}; send fewer",
                                     texts.size(), limits.requests_in_flight),
                         {},
                         {}};
  uint64_t bytes = 0;
  for (const auto& t : texts)
    if (const auto model = model_for(to, t.ids.size())) bytes += input_row_bytes(model->signature);
  if (bytes <= limits.pool_bytes / 2) return {};
  return openai::error{
      413,
      fmt::format("the inputs take {} bytes, more than half of limits.pool_mb = {}; send fewer "
                  "texts, or raise it",
                  bytes, limits.pool_bytes >> 20),
      {},
      {}};
}

void encoder_api::submit(const chosen& to, const std::vector<llm::encoded_text>& texts, uint32_t tenant,
                         time_point arrival, http_reply reply, formatter format) {
  if (const auto why = too_many(to, texts)) return send_error(reply, *why);
  // The gateway has the same bound; here it also covers requests on their way to it.
  if (parts_.clients.waiting_now() + texts.size() > parts_.cluster.limits.requests_in_flight)
    return send_error(reply, completion_refusal(outcome::dropped(drop_reason::queue_full)));
  auto& node = parts_.node;
  std::vector<prepared_text> all;
  std::vector<request_id> ids;
  for (const auto& t : texts) {
    auto one = prepare(to, t);
    if (!one) return send_error(reply, one.error());
    auto& r = one->asked;
    r.id = ids.emplace_back(node.next_request_id());
    r.tenant = tenant;
    r.arrival = arrival;
    r.deadline = arrival + one->model->slo * batches_of(texts.size(), *one->model, to.spec->lengths.size());
    all.push_back(std::move(*one));
  }
  const auto gone = std::make_shared<std::atomic<bool>>(false);
  const auto give_up = [&node, ids] {
    for (const auto id : ids) node.to_gateway(client_gone{id});
  };
  const auto answer = std::make_shared<encoder_answer>(
      std::move(reply), ids.front(), all.size(), to.of->config.width(),
      [format = std::move(format), id = std::to_string(ids.front().value)](auto numbers) {
        return format(std::move(numbers), id);
      },
      give_up);
  answer->reply().on_cancel([gone, give_up] {
    *gone = true;
    give_up();
  });
  for (size_t i = 0; i < all.size(); ++i) {
    auto& t = all[i];
    http_clients::waiting w{http_reply(nullptr), t.model, {}, parts_.time.now()};
    w.asked.rows = 1;
    w.taker = [answer, i](const outcome& how, auto) { answer->take(i, how); };
    parts_.clients.expect(t.asked.id, std::move(w));
    t.input.take_over();
    node.to_gateway(client_request{t.asked});
  }
  if (*gone) give_up();  // the client disconnected before the gateway had the requests
}

}  // namespace troupe
