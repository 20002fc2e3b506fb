// scale_planner gives language models the number of instances that their load needs (BlitzScale §5.3). It
// runs on every leader candidate, beside the parameter pool, which tells it how many instances are ordered,
// and carries out its orders as those of `troupe scale`. Only the leader's pool tells it a number, so only
// the leader's planner decides. The decision is policies/scaling/scale_rule.hpp, made with each
// `measured_load`.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/peers_up.hpp"
#include "messages/cluster/cluster.hpp"
#include "messages/scaling/commands.hpp"
#include "policies/common/recent_ring.hpp"
#include "policies/scaling/load_monitor.hpp"
#include "policies/scaling/phased_rule.hpp"
#include "policies/scaling/scale_rule.hpp"

namespace troupe {

class scale_planner final : public actor {
 public:
  /// `cluster` outlives it.
  scale_planner(address self, outbox& out, const cluster_spec& cluster);

  void on(envelope& e, time_point now) override;
  void on_time(time_point now) override;
  time_point next_wakeup() const override { return never; }
  void report(std::vector<metric>& out) const override;
  command_reply on_command(const command& c, time_point now) override;
  std::string_view state() const override { return leads() ? "leading" : "listening"; }

 private:
  struct scaled {
    scaled(const cluster_spec& cluster, llm_id model);

    llm_id id;
    const llm_spec& spec;
    load_monitor monitor;
    scale_rule rule;
    std::optional<phased_rule> phases;  ///< of a model that is disaggregated, in place of `rule`
    instances_known instances = {};
    /// As last ordered or, if the loop only advises, as last advised or ordered. Nothing: it is not known.
    std::optional<uint32_t> wanted;
    uint32_t prefill = 0;                ///< of `wanted`; 0: the model is not disaggregated
    std::optional<scale_reason> reason;  ///< of the latest decision
    bool fresh = false;                  ///< a load has arrived
    uint64_t more = 0, fewer = 0;        ///< decisions

    /// This planner does not decide until the number of instances is known again.
    void forget() {
      wanted.reset();
      rule.forget();
      if (phases) phases->forget();
    }
  };
  struct decided {
    time_point at;
    llm_id model;
    scaling_decision what;
  };

  bool leads() const;
  node_id router_node() const;
  scaled* find(llm_id model);
  void learn(const instances_known& k, time_point now);
  void decide(scaled& m, time_point now);
  void decide_phases(scaled& m, time_point now);
  struct numbers {
    uint32_t instances = 0, prefill = 0;
    bool operator==(const numbers&) const = default;
  };
  void note(scaled& m, const numbers& had, const instance_range& needed, scale_reason why, time_point now);
  void complete(const instances_ordered& o);
  std::vector<resource_state> resources(const scaled& m, time_point now) const;
  scale_planner_state describe(time_point now) const;
  scaling_story explain(const explain_scaling& asked, time_point now) const;

  const cluster_spec& cluster_;
  std::vector<scaled> models_;
  peers_up nodes_up_;
  recent_ring<decided> decisions_;
};

}  // namespace troupe
