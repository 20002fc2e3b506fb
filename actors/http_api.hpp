// The HTTP face of a gateway: KServe V2 REST, health and Prometheus. Its functions run on the HTTP threads:
// they parse and validate, put inputs into registered memory and hand finished requests to the gateway actor.
#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "actors/authorisation.hpp"
#include "actors/cast.hpp"
#include "actors/inference_statistics.hpp"
#include "actors/metrics.hpp"
#include "transport/http_router.hpp"
#include "transport/kserve_v2.hpp"

namespace troupe {

/// Which requests wait for an answer, and how each is written: the gateway's way back to HTTP.
class http_clients final : public client_port {
 public:
  struct waiting {
    http_reply reply;
    catalog::view model;
    infer_request asked;  ///< its views of the body are not used any more
    time_point parsed_at = never;
    bool timed = false;  ///< it asked for a Server-Timing header (request_timing.hpp)
  };
  explicit http_clients(const clock& time) : time_(time) {}
  void expect(request_id id, waiting w);
  void answer(request_id id, const outcome& how) override;
  void executed(model_id model, uint32_t rows, const batch_times& times) override {
    statistics_.executed(model, rows, times);
  }

  /// Requests that wait: parsed, and not answered.
  size_t waiting_now() const { return waiting_now_.load(std::memory_order_relaxed); }
  const inference_statistics& statistics() const { return statistics_; }

 private:
  /// HTTP threads and the gateway meet here: spread the locks.
  struct shard {
    std::mutex mutex;
    std::unordered_map<request_id, waiting> open;
  };
  shard& of(request_id id) { return shards_[id.value % shards_.size()]; }
  const clock& time_;
  std::array<shard, 16> shards_;
  std::atomic<size_t> waiting_now_{0};
  inference_statistics statistics_;
};

class http_api {
 public:
  struct parts {
    const cluster_spec& cluster;
    const clock& time;
    class cast& cast;
    http_clients& clients;
    metrics_protocol metrics;
    std::function<bool()> ready;          ///< serving: all models, and not draining
    std::function<duration()> unix_time;  ///< since 1970, as the machine's wall clock has it
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
  void tell_statistics(const std::vector<catalog::view>& models, http_reply reply) const;
  void scrape(http_reply reply);
  /// Answers 404 itself and gives nothing if there is no such model (or version: there is only "1").
  catalog::view find(const path_parameters& path, http_reply& reply) const;
  /// The same, and 503 if its shapes are not known yet.
  catalog::view find_loaded(const path_parameters& path, http_reply& reply) const;

  parts parts_;
  authorisation authorisation_;
  http_router router_;
};

}  // namespace troupe
