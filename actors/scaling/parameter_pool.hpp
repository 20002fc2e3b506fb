// parameter_pool gives each language model that scales its instances, and keeps its weights in the cluster's
// memory (BlitzScale §5.1). Nodes that want the files of tensor models get them, too. It runs on every leader
// candidate, and only the leader's orders: it compares what shards and engines report with what is wanted,
// and orders the next steps until nothing is left to do. A new leader learns everything from reports, also
// how many instances there are.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/peers_up.hpp"
#include "actors/scaling/weights_names.hpp"
#include "messages/cluster/cluster.hpp"
#include "messages/scaling/commands.hpp"
#include "policies/scaling/copy_plan.hpp"
#include "policies/scaling/image_use.hpp"
#include "policies/scaling/instance_choice.hpp"
#include "policies/scaling/pending_orders.hpp"
#include "policies/scaling/phase_choice.hpp"

namespace troupe {

class parameter_pool final : public actor {
 public:
  /// `bytes_of`: size of a model's images, 0 if its engines load by themselves. `cluster` outlives the actor.
  parameter_pool(address self, outbox& out, const cluster_spec& cluster,
                 const std::function<uint64_t(llm_id)>& bytes_of);

  void on(envelope& e, time_point now) override;
  void on_time(time_point now) override;
  time_point next_wakeup() const override;
  void report(std::vector<metric>& out) const override;
  command_reply on_command(const command& c, time_point now) override;
  std::string_view state() const override { return leads_ ? "leading" : "listening"; }

 private:
  struct known_engine {
    instance_stage stage = instance_stage::idle;
    bool unusable = false;
    uint32_t sequences = 0;
    time_point parked_at = never;
    instance_phase phase = instance_phase::both;
  };
  struct scaled {
    llm_id id;
    uint64_t bytes = 0;
    std::optional<uint32_t> wanted;            ///< instances; nothing: this leader does not know it yet
    std::optional<instances_known> told = {};  ///< to the planner of the node
    uint32_t prefill = 0;                      ///< of `wanted`; 0: the model is not disaggregated
  };
  struct next_steps {
    instance_choice instances;
    copy_plan copies;
  };

  void on_status(const engine_status& s, time_point now);
  void on_node_down(const node_down& n, time_point now);
  void set_leading(bool leads, time_point now);
  void order_first(scaled& model);
  uint32_t prefills_of(llm_id model) const;
  void learn_wanted(time_point now);
  void learn_term(term_id term, time_point now);
  bool obeys(node_id node) const;
  bool is_learning(time_point now) const;
  bool knows_all() const;
  /// Statuses and inventories alone.
  scaling_view reported(time_point now) const;
  void add_files(scaling_view& v) const;
  std::vector<copy_target> targets(const scaling_view& v, const instance_choice& c) const;
  void reconcile(time_point now);
  void learn_problems(time_point now);
  bool is_pending() const;
  void repeat_orders(time_point now);
  void send_orders(const std::vector<stage_order>& stages, const copy_plan& copies);
  /// If a model had this many instances.
  next_steps plan(const scaled& model, uint32_t instances, uint32_t prefill, time_point now) const;
  void order(scaled& model, uint32_t instances, uint32_t prefill);
  scaling_plan scale(const scale_model& asked, time_point now);
  void on_planner(const order_instances& o, time_point now);
  void tell_planner(scaled& model, instances_known k);
  scaling_plan describe(const next_steps& s) const;
  parameter_pool_state describe() const;

  const cluster_spec& cluster_;
  weights_names names_;
  link_rates rates_;
  std::vector<scaled> models_;
  peers_up nodes_up_;
  std::vector<node_id> leaving_;
  std::map<engine_id, known_engine> engines_;  ///< of models that scale, on nodes that are up
  std::map<node_id, shard_inventory> shards_;
  pending_orders pending_;
  std::map<std::pair<node_id, weights_id>, time_point>
      problems_;  ///< of images: seen, or tried again, at that time
  image_use use_;
  bool leads_ = false;
  term_id term_;
  time_point leads_since_ = never;
  bool changed_ = false;
  time_point reconciled_at_ = long_ago;
  time_point again_at_ = never;   ///< the next decision without a report
  time_point repeat_at_ = never;  ///< of pending orders
  uint64_t placed_ = 0, dropped_ = 0, relinked_ = 0;
};

}  // namespace troupe
