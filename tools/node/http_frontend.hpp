// HTTP frontend of a real gateway: the server with the KServe, OpenAI and repository APIs and the page /ui.
#pragma once
#include <atomic>
#include <caf/actor_system.hpp>
#include <memory>
#include <vector>

#include "actors/frontend/completion_clients.hpp"
#include "actors/frontend/encoder_api.hpp"
#include "actors/frontend/http_api.hpp"
#include "actors/frontend/http_clients.hpp"
#include "actors/frontend/openai_api.hpp"
#include "actors/frontend/repository_api.hpp"
#include "actors/frontend/ui_feed.hpp"
#include "tools/node/node_process.hpp"
#include "transport/http/handler_pool.hpp"
#include "transport/http/server.hpp"

namespace troupe {

class http_frontend {
 public:
  /// All references must outlive the frontend.
  struct parts {
    caf::actor_system& system;
    const cluster_spec& cluster;
    node_id self;
    const clock& time;
    frontend& node;
    deployer_protocol deployments;
    http_clients& clients;
    completion_clients& completions;
    metrics_protocol metrics;
    console::handle console_actor;
    const node_process& process;
  };

  /// Starts to serve. Throws std::exception with a one-line message if the port cannot be used or a tokenizer
  /// cannot be read.
  void open(const parts& p);

  /// The port; 0 if it is not open.
  uint16_t port() const { return server_ ? server_->port() : 0; }
  /// Adds the metrics of connections and rejected keys; nothing if it is not open. Thread-safe.
  void report(std::vector<metric>& out) const;
  /// Reads the key files of the cluster again. If one of them is invalid, no key changes.
  void read_keys(cluster_spec cluster);

  /// Closes the event streams of /ui.
  void stop_watching();
  /// Accepts no new requests and answers the open ones, for a second at most.
  void drain();
  /// Stops the server and the handlers of long bodies.
  void close();

 private:
  void add_repository(const parts& p);
  void add_completions(const parts& p);
  void add_encoders(const parts& p);
  void add_ui(const parts& p);

  std::unique_ptr<http_api> api_;
  std::unique_ptr<openai_api> completion_api_;
  std::unique_ptr<encoder_api> encoder_api_;
  std::unique_ptr<repository_api> repository_;
  std::unique_ptr<ui_feed> watching_;
  std::unique_ptr<handler_pool> long_bodies_;  // its threads call the APIs: it ends before them
  std::unique_ptr<http_server> server_;
  std::atomic<const http_server*> listening_{nullptr};
};

}  // namespace troupe
