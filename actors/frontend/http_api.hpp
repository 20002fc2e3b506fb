// http_api is the HTTP interface of a gateway: KServe V2 REST, health and Prometheus. Its handlers run on the
// HTTP threads: they parse and validate requests, put inputs into registered memory, and send the requests to
// the gateway actor.
#pragma once
#include <functional>

#include "actors/frontend/authorisation.hpp"
#include "actors/frontend/frontend.hpp"
#include "actors/frontend/http_clients.hpp"
#include "actors/frontend/shaped_models.hpp"
#include "actors/operator/metrics.hpp"
#include "messages/cluster/cluster.hpp"
#include "transport/http/router.hpp"

namespace troupe {

class http_api {
 public:
  struct parts {
    const cluster_spec& cluster;
    const clock& time;
    frontend& node;
    http_clients& clients;
    metrics_protocol metrics;
    std::function<bool()> ready;          ///< all models are served, and the node does not drain
    std::function<duration()> unix_time;  ///< since 1970, by the machine's wall clock
  };
  explicit http_api(parts p);

  http_handler& handler() { return router_; }
  authorisation& keys() { return authorisation_; }
  http_router& routes() { return router_; }

 private:
  void add_health();
  void add_models();
  void add_repository();
  void infer(http_request request, const path_parameters& path, http_reply reply);
  void describe(const path_parameters& path, http_reply reply) const;
  void configure(const path_parameters& path, http_reply reply) const;
  void model_ready(const path_parameters& path, http_reply reply) const;
  void list(uint32_t tenant, http_reply reply) const;
  void index(const http_request& request, http_reply reply) const;
  void send_statistics(const std::vector<catalog::view>& models, http_reply reply) const;
  void scrape(http_reply reply);
  /// Null, after an answer with 404, if there is no such model or version (the only version is "1").
  catalog::view find(const path_parameters& path, http_reply& reply) const;
  /// The same, and 503 if its shapes are not known yet.
  catalog::view find_loaded(const path_parameters& path, http_reply& reply) const;
  /// The models of the catalogue, and behind them those with several shapes.
  std::vector<catalog::view> all_models() const;

  parts parts_;
  shaped_models shaped_{parts_.cluster, parts_.node.models()};
  authorisation authorisation_;
  http_router router_;
};

}  // namespace troupe
