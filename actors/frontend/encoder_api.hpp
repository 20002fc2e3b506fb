// encoder_api is the HTTP interface of the encoders of a gateway: /v1/embeddings and /v1/rerank. Its handlers
// run on the HTTP threads: they tokenize, and send each text as a tensor request to the model of the shortest
// length that it fits into.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "actors/frontend/authorisation.hpp"
#include "actors/frontend/encoder_answer.hpp"
#include "actors/frontend/encoder_bundle.hpp"
#include "actors/frontend/frontend.hpp"
#include "actors/frontend/http_clients.hpp"
#include "messages/cluster/cluster.hpp"
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
    std::vector<encoder_bundle> encoders;  ///< as in the cluster
  };
  explicit encoder_api(parts p) : parts_(std::move(p)) {}

  void add_to(http_router& routes);

 private:
  struct chosen {
    const encoder_spec* spec = nullptr;
    const encoder_bundle* of = nullptr;
    size_t most() const { return spec->lengths.back().tokens; }
  };
  struct text_request {
    catalog::view model;
    llm::encoded_text text;
    slot input;
  };

  openai::result<chosen> find(const std::string& name, uint32_t tenant) const;
  void embed(const http_request& request, http_reply reply);
  void rerank(const http_request& request, http_reply reply);
  /// Sends the texts; `format` gets their numbers.
  void submit(const chosen& to, std::vector<llm::encoded_text> texts, uint32_t tenant, time_point arrival,
              http_reply reply, encoder_answer::format format);
  catalog::view model_for(const chosen& to, size_t tokens) const;
  /// The model, and memory with its inputs, for a text.
  openai::result<text_request> prepare(const chosen& to, llm::encoded_text text) const;

  parts parts_;
};

}  // namespace troupe
