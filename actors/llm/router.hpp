// llm_router places the requests of one model on its engines. It migrates requests away from engines that
// close, drain or are nearly idle, and queues requests for which no engine has room. The policy is
// request_router; its decisions go to the gateways as `placements` and `drops`.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "messages/cluster/cluster.hpp"
#include "messages/llm/commands.hpp"
#include "policies/llm/load_meter.hpp"
#include "policies/llm/request_router.hpp"

namespace troupe {

class llm_router final : public actor {
 public:
  struct options {
    llm_id model;
    std::string name;
    std::string routing = "punica";                      ///< policies/llm/routing_policy.hpp
    std::vector<std::pair<engine_id, node_id>> engines;  ///< ascending
    uint32_t max_waiting = 1024;
    duration consolidate_every{};  ///< zero: never
    bool disaggregated = false;    ///< engines prefill or decode only
    /// The model scales: requests wait that long for its first instance, which the parameter pools on these
    /// nodes start. Zero: it does not.
    duration cold_start{};
    std::vector<node_id> pools;
    /// The scale planners on the same nodes get the load, with arrivals over this window. Zero: they do not.
    duration load_window{};
  };

  llm_router(address self, outbox& out, const options& o);

  void on(envelope& e, time_point now) override;
  void on_time(time_point now) override;
  time_point next_wakeup() const override;
  void report(std::vector<metric>& out) const override;
  command_reply on_command(const command& c, time_point now) override;

 private:
  void on_node_down(const node_down& n);
  void report_load(time_point now);
  llm_router_state describe() const;
  generation_list list(const list_generations& asked, time_point now) const;

  const options options_;
  request_router requests_;
  std::unordered_map<node_id, incarnation_id> incarnations_;  // of nodes that are up
  time_point consolidate_at_ = long_ago;
  time_point ask_pools_at_ = long_ago;  // again
  std::optional<load_meter> load_;
  time_point report_load_at_ = never;
};

}  // namespace troupe
