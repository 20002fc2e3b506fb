// Profiles of the models of a scheduling domain, for a matchmaking policy that places models (Nexus). They
// follow deployments and the latencies measured on slots.
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
    std::vector<model_spec> models{};  ///< by id; empty: the policy places no models
    uint32_t domain = 0;
    network_delay network{};
    duration response{};  ///< reserved between the end of a batch and its deadline, slack included
  };

  /// Sets the profiles of the domain's models. `policy` outlives it.
  model_profiles(const options& o, matchmaking_policy& policy);

  /// Whether the policy places models; if not, the functions below have no effect.
  bool places() const { return places_; }
  /// Removes the profile of a model that is undeployed or moves to another domain; otherwise updates it.
  void on_change(const deployment& line);
  /// Stores the latencies measured on a slot, also for models that are not in the domain yet.
  void on_slot_ready(const slot_ready& s);
  /// Removes a lost slot. If it was a model's last one, its profile keeps the latency.
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
