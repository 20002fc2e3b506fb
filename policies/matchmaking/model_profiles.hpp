// The models of a scheduling domain, for a matchmaking policy that places them (Nexus): each profile follows
// the deployments of its model and the latencies that slots measured.
#pragma once
#include <map>
#include <vector>

#include "messages/cluster/membership.hpp"
#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "messages/deployment/deployment.hpp"
#include "messages/deployment/model_spec.hpp"
#include "messages/tensor/latency.hpp"
#include "policies/matchmaking/matchmaking.hpp"

namespace troupe {

class model_profiles {
 public:
  struct options {
    std::vector<model_spec> models{};  ///< of the cluster file, by id; none: the policy places no models
    uint32_t domain = 0;
    network_delay network{};
    duration response{};  ///< kept free between the end of a batch and its deadline, slack included
  };

  /// Sets the profiles of the domain's models. `policy` outlives it.
  model_profiles(const options& o, matchmaking_policy& policy);

  /// The policy places models: there is something to feed it.
  bool places() const { return places_; }
  /// A model that is undeployed, or moves to another domain, leaves its slots to the others.
  void on_change(const deployment& line);
  /// A slot has these models, also some that are yet to come to the domain.
  void on_slot_ready(const slot_ready& s);
  /// The slot is gone. A model's last latency is kept.
  void forget(slot_id slot);

 private:
  void set(model_id model);

  matchmaking_policy& policy_;
  const bool places_;
  const uint32_t domain_;
  const network_delay network_;
  const duration response_;
  std::map<model_id, model_spec> served_;  ///< in this domain
  std::map<model_id, std::map<slot_id, latency_model>> measured_;
};

}  // namespace troupe
