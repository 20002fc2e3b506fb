// The HTTP side of a real gateway: the KServe, OpenAI and repository APIs, the page of /ui, and the server in
// front of them.
#pragma once
#include <atomic>
#include <caf/actor_system.hpp>
#include <memory>
#include <vector>

#include "actors/frontend/completion_clients.hpp"
#include "actors/frontend/http_api.hpp"
#include "actors/frontend/http_clients.hpp"
#include "actors/frontend/openai_api.hpp"
#include "actors/frontend/repository_api.hpp"
#include "actors/frontend/ui_feed.hpp"
#include "tools/node/node_process.hpp"
#include "transport/http/server.hpp"

namespace troupe {

class http_frontend {
 public:
  /// All references outlive it.
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

  /// Serves from now on. Throws std::exception with one clear message if the port cannot be used or a
  /// tokenizer cannot be read.
  void open(const parts& p);

  /// The port that it serves at; 0: it is not open.
  uint16_t port() const { return server_ ? server_->port() : 0; }
  /// Adds connections and refused keys; nothing while it is not open. From any thread.
  void report(std::vector<metric>& out) const;
  /// Reads the key files of the cluster again. If one of them will not do, all keys stay as they were.
  void read_keys(cluster_spec cluster);

  /// Ends the streams of /ui.
  void stop_watching();
  /// Answers the requests that are open and takes no new ones, for a second at most.
  void drain();
  /// Ends the server.
  void close() { server_.reset(); }

 private:
  void add_repository(const parts& p);
  void add_completions(const parts& p);
  void add_ui(const parts& p);

  std::unique_ptr<http_api> api_;
  std::unique_ptr<openai_api> completion_api_;
  std::unique_ptr<repository_api> repository_;
  std::unique_ptr<ui_feed> watching_;
  std::unique_ptr<http_server> server_;
  std::atomic<const http_server*> listening_{nullptr};
};

}  // namespace troupe
