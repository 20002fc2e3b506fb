// LoRA adapters of language models, loaded and unloaded by clients of a gateway: vLLM's extension of the
// OpenAI API. Its functions run on HTTP threads; the llm_gateway carries out the changes.
#pragma once
#include "actors/frontend/completion_clients.hpp"
#include "actors/frontend/frontend.hpp"
#include "messages/cluster/cluster.hpp"
#include "transport/http/router.hpp"

namespace troupe {

class adapter_api {
 public:
  /// All references outlive it.
  adapter_api(const cluster_spec& cluster, frontend& node, completion_clients& clients)
      : cluster_(cluster), node_(node), clients_(clients) {}

  /// POST /v1/load_lora_adapter and /v1/unload_lora_adapter. The router does not outlive this.
  void add_to(http_router& routes);

 private:
  void load(const http_request& request, http_reply reply);
  void unload(const http_request& request, http_reply reply);
  void change(llm_id model, bool load, adapter_entry what, http_reply reply);

  const cluster_spec& cluster_;
  frontend& node_;
  completion_clients& clients_;
};

}  // namespace troupe
