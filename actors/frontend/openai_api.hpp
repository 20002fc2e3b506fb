// The OpenAI API of a gateway: completions, chats, models, tokens. Its functions run on HTTP threads,
// and those for long bodies in a pool: they parse and check bodies, tokenize text, and send requests to the
// llm_gateway.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/frontend/adapter_api.hpp"
#include "actors/frontend/authorisation.hpp"
#include "actors/frontend/completion_clients.hpp"
#include "actors/frontend/frontend.hpp"
#include "messages/cluster/cluster.hpp"
#include "transport/http/handler_pool.hpp"
#include "transport/http/router.hpp"
#include "transport/openai/base_request.hpp"

namespace troupe {

class openai_api {
 public:
  struct parts {
    const cluster_spec& cluster;
    const clock& time;
    frontend& node;
    completion_clients& clients;
    const authorisation& keys;
    handler_pool& long_bodies;
    std::vector<std::shared_ptr<const tokenizer_bundle>> languages;  ///< by llm_id
    std::function<duration()> unix_time;  ///< since 1970, by the machine's wall clock
  };
  explicit openai_api(parts p);

  void add_to(http_router& routes);

 private:
  /// A model that a request names and may use.
  struct chosen {
    llm_catalog::target target;
    const llm_spec* spec = nullptr;
    std::shared_ptr<const tokenizer_bundle> words;
  };
  struct prompt {
    std::vector<llm::token> tokens;
    std::string echo;
  };

  openai::result<chosen> find(const std::string& name, uint32_t tenant) const;
  bool may_use(uint32_t tenant, const std::string& name, llm_id model) const;
  void complete(http_request request, http_reply reply);
  void chat(http_request request, http_reply reply);
  openai::result<std::vector<llm::token>> encode(const chosen& of, const std::string& text, bool special,
                                                 const char* field) const;
  openai::result<std::vector<llm::token>> tokens_of_chat(const chosen& of,
                                                         const nlohmann::ordered_json& messages,
                                                         bool add_generation_prompt,
                                                         const nlohmann::ordered_json& variables,
                                                         bool special) const;
  void submit(const openai::base_request& asked, openai::completion_kind kind, const chosen& to,
              std::vector<prompt> prompts, uint32_t tenant, time_point arrival, http_reply reply);
  void list(uint32_t tenant, http_reply reply) const;
  void describe(const std::string& name, uint32_t tenant, http_reply reply) const;
  void tokenize(const http_request& request, http_reply reply) const;
  void detokenize(const http_request& request, http_reply reply) const;
  std::chrono::sys_seconds wall_time() const;
  static openai::error not_ready(const chosen& to);
  std::optional<openai::error> problem_with(const openai::base_request& asked, const char* field,
                                            const chosen& to, const std::vector<prompt>& prompts) const;
  generation_targets targets_of(const openai::base_request& asked, uint32_t tenant) const;
  std::string cache_scope_of(const openai::base_request& asked, uint32_t tenant) const;
  generation generation_of(const openai::base_request& asked, const chosen& to, uint32_t tenant,
                           time_point arrival, size_t prompt_tokens);
  static void refuse(http_reply& reply, const openai::error& why) { reply.send(openai::error_response(why)); }

  parts parts_;
  adapter_api adapters_;
  const std::chrono::sys_seconds started_;
};

}  // namespace troupe
