// Which models a cluster is to serve, as one node knows it: the newest line of the log about each model.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "messages/deployment/deployment.hpp"

namespace troupe {

/// Only the scheduler's node calls what decides: `deploy` to `stay`; all nodes `merge`. A model
/// that comes back with the definition that it had keeps its id, every other one gets the next; so ids, and
/// what is kept by id, grow with the different definitions only, and `most` bounds them.
class deployment_table {
 public:
  deployment_table(const std::vector<model_spec>& of_the_file, size_t max_lines);

  /// What came of a command.
  struct decision {
    const deployment* line = nullptr;  ///< of the model; null: refused
    bool changed = false;              ///< `line` is new and to be told; else it is so already
    std::string why;                   ///< of a refusal: one sentence
  };
  decision deploy(const model_spec& definition);
  decision redeploy(std::string_view name);
  decision undeploy(std::string_view name);
  /// To another scheduling domain. Requires: there is one of that number.
  decision move(std::string_view name, uint32_t domain);
  /// Nobody waits for a retiring model any more. Requires: it is retiring.
  const deployment& retired(model_id model);
  /// The next step of a move, since every node has done its part of this one. Requires: it moves.
  const deployment& moved_on(model_id model);
  /// The new domain cannot have the model after all. Requires: it is joining one.
  const deployment& stay(model_id model);

  /// What another node knows: of two lines about a model that with the higher revision counts; equal
  /// revisions, unlike content: the scheduler's. The models whose lines changed, by id.
  std::vector<model_id> merge(const deployment_log& theirs, bool from_scheduler);

  const deployment& at(model_id model) const { return lines_.at(model); }
  const std::map<model_id, deployment>& lines() const { return lines_; }
  /// The newest line about any model of this name; null: none.
  const deployment* find(std::string_view name) const;
  /// What another node cannot know from the file.
  deployment_log changes() const;

 private:
  decision write(deployment line);

  std::map<model_id, deployment> lines_;
  uint64_t revision_ = 0;
  size_t max_lines_;
};

}  // namespace troupe
