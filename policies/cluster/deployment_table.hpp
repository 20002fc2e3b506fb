// Deployment log of a cluster, as one node knows it: the newest line about each model.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/deployment/deployment.hpp"

namespace troupe {

/// Only the leader's deployer calls the deciding functions, `deploy` to `forget`; all nodes call `merge`. A
/// model that is deployed again with its old definition keeps its id; every other one gets the next id. So
/// ids grow with the number of different definitions only. Of undeployed models the log keeps a bounded
/// number of definitions; lines without one are small, and remain so that no node takes such a model for
/// deployed.
class deployment_table {
 public:
  static constexpr size_t max_ids = 65'536;

  /// `max_models`: bound of the models that are deployed at once, and of the undeployed ones whose
  /// definitions are kept.
  deployment_table(const std::vector<model_spec>& of_the_file, size_t max_models);

  /// Result of a command.
  struct decision {
    const deployment* line = nullptr;  ///< line of the model; null: refused
    bool changed = false;              ///< `line` is new and must be sent; else it holds already
    std::string why;                   ///< reason of a refusal, one sentence
  };
  decision deploy(const model_spec& definition);
  decision redeploy(std::string_view name);
  decision undeploy(std::string_view name);
  /// Moves a model to another scheduling domain. Requires: the domain exists.
  decision move(std::string_view name, uint32_t domain);
  /// The last request of a retiring model has ended. Requires: it is retiring.
  const deployment& retired(model_id model);
  /// The next step of a move, after every node has applied the current one. Requires: it moves.
  const deployment& moved_on(model_id model);
  /// Cancels a move because the new domain cannot serve the model. Requires: it is joining one.
  const deployment& stay(model_id model);

  /// The model that was undeployed first, if more are undeployed than the log keeps definitions of. Models of
  /// the cluster file keep theirs.
  std::optional<model_id> forgettable() const;
  /// The line of an undeployed model loses its definition: it cannot be deployed again by its name.
  const deployment& forget(model_id model);

  /// Merges the lines of another node. Of two lines about a model the one with the higher revision counts; at
  /// equal revisions and different content the scheduler's. Returns the models whose lines changed, by id.
  std::vector<model_id> merge(const deployment_log& theirs, bool from_scheduler);

  const deployment& at(model_id model) const { return lines_.at(model); }
  const std::map<model_id, deployment>& lines() const { return lines_; }
  /// The newest line about any model of this name; null: none.
  const deployment* find(std::string_view name) const;
  /// The lines that do not follow from the cluster file.
  deployment_log changes() const;

 private:
  decision write(deployment line);

  std::map<model_id, deployment> lines_;
  uint64_t revision_ = 0;
  const size_t file_models_, max_models_;
};

}  // namespace troupe
