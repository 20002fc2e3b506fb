// The parameter pool of a running cluster's leader, as the tools see it.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "messages/cluster/cluster.hpp"
#include "messages/scaling/commands.hpp"
#include "tools/client/console_client.hpp"

namespace troupe {

class leading_pool {
 public:
  /// Both outlive it.
  leading_pool(const cluster_spec& cluster, console_client& consoles)
      : cluster_(cluster), consoles_(consoles) {}

  /// The leader's answer, or why there is none.
  console_reply order(const scale_model& order);
  /// Nothing if no leader answers.
  std::optional<parameter_pool_state> state();

 private:
  console_reply ask(node_id node, const std::string& type, const nlohmann::json& fields);

  const cluster_spec& cluster_;
  console_client& consoles_;
};

/// "tasks/1@second": engine 1 of the model, on that node.
std::string instance_name(const std::string& model, uint32_t engine, const std::string& node);

/// [{name, model, engine, node, stage}], of one model or (empty) of all.
nlohmann::json instances_of(const parameter_pool_state& s, const std::string& model = {});

}  // namespace troupe
