// encoder_api is the HTTP interface of the encoders of a gateway: /v1/embeddings and /v1/rerank. Its handlers
// run on the HTTP threads, and those for long bodies in a pool: they tokenize, and send each text as a tensor
// request to the model of the shortest length that it fits into.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "actors/frontend/authorisation.hpp"
#include "actors/frontend/encoder_answer.hpp"
#include "actors/frontend/encoder_bundle.hpp"
#include "actors/frontend/frontend.hpp"
#include "actors/frontend/http_clients.hpp"
#include "actors/frontend/pool_lease.hpp"
#include "messages/cluster/cluster.hpp"
#include "transport/http/handler_pool.hpp"
#include "transport/http/router.hpp"
#include "transport/openai/error.hpp"

namespace troupe {

class encoder_api {
 public:
  struct parts {
    const cluster_spec& cluster;
    const clock& time;
    frontend& node;
    http_clients& clients;
    const authorisation& keys;
    handler_pool& long_bodies;
    std::vector<encoder_bundle> encoders;  ///< as in the cluster
  };
  explicit encoder_api(parts p) : parts_(std::move(p)) {}

  void add_to(http_router& routes);

 private:
  struct chosen {
    const encoder_spec* spec = nullptr;
    const encoder_bundle* of = nullptr;
    size_t max_tokens() const { return spec->lengths.back().tokens; }
  };
  struct prepared_text {
    catalog::view model;
    request asked;
    pool_lease input;
  };

  openai::result<chosen> find(const std::string& name, uint32_t tenant) const;
  void embed(const http_request& request, http_reply reply);
  void rerank(const http_request& request, http_reply reply);
  /// `format` gets the numbers of the texts, and the id of the answer.
  using formatter = std::function<std::string(std::vector<std::vector<float>>, const std::string& id)>;
  void submit(const chosen& to, const std::vector<llm::encoded_text>& texts, uint32_t tenant,
              time_point arrival, http_reply reply, formatter format);
  catalog::view model_for(const chosen& to, size_t tokens) const;
  /// The request of a text, with its inputs in memory.
  openai::result<prepared_text> prepare(const chosen& to, const llm::encoded_text& text) const;
  /// More texts than could ever be served at once.
  std::optional<openai::error> too_many(const chosen& to, const std::vector<llm::encoded_text>& texts) const;

  parts parts_;
};

}  // namespace troupe
