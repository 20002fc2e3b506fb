#include "actors/frontend/openai_api.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "actors/frontend/tokenizing_route.hpp"
#include "gpu/common/request_refused.hpp"

namespace troupe {

openai_api::openai_api(parts p)
    : parts_(std::move(p)), adapters_(parts_.cluster, parts_.node, parts_.clients), started_(wall_time()) {
  parts_.clients.on_give_up([&node = parts_.node](request_id id) { node.to_llm_gateway(client_gone{id}); });
}

std::chrono::sys_seconds openai_api::wall_time() const {
  return std::chrono::sys_seconds{std::chrono::duration_cast<std::chrono::seconds>(parts_.unix_time())};
}

void openai_api::add_to(http_router& routes) {
  const auto add = [&](const char* pattern, handler_pool::handler handle) {
    add_tokenizing_route(routes, pattern, parts_.long_bodies, std::move(handle));
  };
  add("/v1/completions",
      [this](http_request request, http_reply reply) { complete(std::move(request), std::move(reply)); });
  add("/v1/chat/completions",
      [this](http_request request, http_reply reply) { chat(std::move(request), std::move(reply)); });
  add("/tokenize",
      [this](const http_request& request, http_reply reply) { tokenize(request, std::move(reply)); });
  add("/detokenize",
      [this](const http_request& request, http_reply reply) { detokenize(request, std::move(reply)); });
  routes.add("GET", "/v1/models", [this](const http_request& request, auto&, http_reply reply) {
    list(request.tenant, std::move(reply));
  });
  routes.add("GET", "/v1/models/{id...}", [this](const http_request& request, auto& at, http_reply reply) {
    describe(at["id"], request.tenant, std::move(reply));
  });
  adapters_.add_to(routes);
}

/// A tenant that may use a model may use its adapters. A tenant may also have access to single adapters only.
bool openai_api::may_use(uint32_t tenant, const std::string& name, llm_id model) const {
  return parts_.keys.may_see(tenant, name) ||
         parts_.keys.may_see(tenant, parts_.cluster.llms[model.value].name);
}

openai::result<openai_api::chosen> openai_api::find(const std::string& name, uint32_t tenant) const {
  const auto& models = parts_.cluster.llms;
  const auto& called = name.empty() && models.size() == 1 ? models.front().name : name;
  const auto& catalog = parts_.node.language_models();
  auto target = catalog.find(called);
  if (!target && !catalog.knows_all_adapters())
    return openai::error{
        503,
        fmt::format("'{}' may be an adapter: no engine has reported its adapters yet", called),
        {},
        "no_capacity"};
  if (!target || !may_use(tenant, called, target->model)) return openai::model_not_found(called);
  chosen out;
  out.spec = &models[target->model.value];
  out.words = parts_.languages[target->model.value];
  out.target = std::move(*target);
  return out;
}

void openai_api::complete(http_request request, http_reply reply) {
  const auto arrival = parts_.time.now();
  auto asked = openai::parse_completion(request.body);
  if (!asked) return refuse(reply, asked.error());
  const auto to = find(asked->model, request.tenant);
  if (!to) return refuse(reply, to.error());
  std::vector<prompt> prompts;
  for (auto& p : asked->prompts) {
    prompt one;
    if (auto* text = std::get_if<std::string>(&p)) {
      auto tokens = encode(*to, *text, asked->add_special_tokens, "prompt");
      if (!tokens) return refuse(reply, tokens.error());
      one.tokens = std::move(*tokens);
      if (asked->echo) one.echo = std::move(*text);
    } else {
      one.tokens = std::get<std::vector<llm::token>>(std::move(p));
      if (asked->echo) one.echo = to->words->words->decode(one.tokens, asked->skip_special_tokens);
    }
    prompts.push_back(std::move(one));
  }
  submit(*asked, openai::completion_kind::completion, *to, std::move(prompts), request.tenant, arrival,
         std::move(reply));
}

void openai_api::chat(http_request request, http_reply reply) {
  const auto arrival = parts_.time.now();
  auto asked = openai::parse_chat(request.body);
  if (!asked) return refuse(reply, asked.error());
  const auto to = find(asked->model, request.tenant);
  if (!to) return refuse(reply, to.error());
  auto tokens = tokens_of_chat(*to, asked->messages, asked->add_generation_prompt, asked->template_variables,
                               asked->add_special_tokens);
  if (!tokens) return refuse(reply, tokens.error());
  std::vector<prompt> one;
  one.push_back({std::move(*tokens), {}});
  submit(*asked, openai::completion_kind::chat, *to, std::move(one), request.tenant, arrival,
         std::move(reply));
}

/// Also the answer before the first report of an engine, while its limits are unknown.
openai::error openai_api::not_ready(const chosen& to) {
  return {503, fmt::format("the engine of model '{}' is not ready", to.spec->name), {}, "no_capacity"};
}

/// Special tokens in the text are encoded as such, as by other servers.
openai::result<std::vector<llm::token>> openai_api::encode(const chosen& of, const std::string& text,
                                                           bool special, const char* field) const {
  if (of.target.max_model_len == 0) return not_ready(of);
  // text that cannot fit is refused before tokenization
  if (text.size() / of.words->longest_token > of.target.max_model_len)
    return openai::error{
        400,
        fmt::format("{}: {} bytes are too long: this model's maximum context length is {} tokens", field,
                    text.size(), of.target.max_model_len),
        field, "context_length_exceeded"};
  try {
    return of.words->words->encode(text, special, true);
  } catch (const request_refused& e) {
    return openai::error{400, e.what(), field, {}};
  }
}

openai::result<std::vector<llm::token>> openai_api::tokens_of_chat(const chosen& of,
                                                                   const nlohmann::ordered_json& messages,
                                                                   bool add_generation_prompt,
                                                                   const nlohmann::ordered_json& variables,
                                                                   bool special) const {
  const auto& l = *of.words;
  if (!l.chat) {
    const auto why =
        l.chat_problem.empty()
            ? fmt::format("model '{}' has no chat template", of.spec->name)
            : fmt::format("model '{}' cannot chat, because its chat template is not supported: {}",
                          of.spec->name, l.chat_problem);
    return openai::error{400, why + "; use /v1/completions", "messages", {}};
  }
  std::string text;
  try {
    text = render_chat(l, messages, add_generation_prompt, variables,
                       std::chrono::floor<std::chrono::days>(wall_time()));
  } catch (const request_refused& e) {
    return openai::error{400, e.what(), "messages", {}};
  }
  return encode(of, text, special, "messages");
}

}  // namespace troupe
