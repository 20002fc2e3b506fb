// ui_feed supplies the page of a gateway (/ui) with data. While there are watchers, it asks the actors of the
// cluster for their state, through the console of its node, and sends one document (ui_snapshot.hpp) per
// round to every watcher as a server-sent event. The numbers of watchers and of open questions are bounded.
#pragma once
#include <caf/actor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "actors/operator/console.hpp"
#include "actors/operator/metrics.hpp"
#include "messages/cluster/cluster.hpp"
#include "transport/http/router.hpp"

namespace troupe {

class ui_feed {
 public:
  static constexpr size_t max_watchers = 32;   ///< more get 503
  static constexpr size_t max_questions = 16;  ///< open ones; a console takes 64 from all clients
  static constexpr auto interval = std::chrono::milliseconds(250);  ///< from round to round, if all answer
  static constexpr uint32_t adapters_every = 4;                     ///< rounds between lists of adapters
  static constexpr uint32_t max_adapters = 1000;

  struct parts {
    caf::actor_system& system;
    console::handle console_actor;
    metrics_protocol metrics;
    const cluster_spec& cluster;
    const clock& time;
    node_id self;
    std::function<std::map<model_id, std::string>()> models;  ///< served ones; called from any thread
  };
  explicit ui_feed(parts p);
  ~ui_feed() { stop(); }
  ui_feed(const ui_feed&) = delete;
  ui_feed& operator=(const ui_feed&) = delete;

  /// GET /ui, the page, and GET /ui/events. The router does not outlive this.
  void add_to(http_router& router);
  /// Ends all streams and the questions.
  void stop();

  class subscribers;
  class asker;

 private:
  std::shared_ptr<subscribers> subscribers_;
  caf::actor asker_;
};

}  // namespace troupe
