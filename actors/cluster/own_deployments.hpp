// own_deployments tracks a node's part of the deployments: the models that its slots have and load, and when
// the part of a line of the deployment log is done. The deployer executes its steps. Pure.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/runtime/events.hpp"
#include "actors/runtime/model_loader.hpp"
#include "messages/cluster/cluster.hpp"
#include "messages/cluster/membership.hpp"
#include "messages/deployment/deployment.hpp"

namespace troupe {

class own_deployments {
 public:
  own_deployments(const cluster_spec& cluster, node_id self);

  struct step {
    bool load = false;                    ///< onto every slot
    std::vector<slot_id> changed;         ///< slots whose models must be reported, even if unchanged
    std::optional<deployment_part> done;  ///< this node's part
  };
  /// Begins the part of a new line. Requires: a model that it undeploys is not being loaded.
  step begin(const deployment& line);
  /// A slot has answered a load. `line`: the newest line about the model.
  step loaded(const load_outcome& o, const deployment& line);
  /// An actor of this node no longer uses the model. Returns the part if that completes it.
  std::optional<deployment_part> idle(const model_idle& i);

  /// The line assigns the model to this node's slots, if it has any.
  bool wants(const deployment& line) const { return line.held_in(domain_); }
  bool loading(model_id model) const;
  bool loading() const;
  std::vector<model_ready> models_of(slot_id slot) const;
  /// The latest completed part of each model.
  deployment_report report() const;

 private:
  struct slot_state {
    struct loaded_one {
      model_spec definition;
      model_ready ready;
    };
    std::map<model_id, loaded_one> models;
    size_t loading = 0;  ///< loads that have not answered
  };
  /// The slots and actors that have not answered yet.
  struct pending_part {
    uint64_t revision = 0;
    std::set<slot_id> slots;
    bool gateway = false;
    bool queue = false;
    std::string problem;
    bool over() const { return slots.empty() && !gateway && !queue; }
  };

  std::optional<deployment_part> done_if_over(model_id model);

  bool has(const deployment& line) const;

  const bool has_gateway_, has_scheduler_;
  const uint32_t domain_;
  std::map<slot_id, slot_state> slots_;
  std::map<model_id, size_t> loading_;  ///< slots that have not answered
  std::map<model_id, pending_part> pending_;
  std::map<model_id, deployment_part> done_;
};

}  // namespace troupe
