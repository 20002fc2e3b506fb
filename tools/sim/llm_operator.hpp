// The operator that disturbs the language models of a simulated cluster: migrates sequences, drains engines,
// loads and unloads adapters.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "messages/cluster/membership.hpp"
#include "messages/workload/workload.hpp"
#include "policies/common/random.hpp"
#include "tools/sim/timeline.hpp"

namespace troupe {
class node_runtime;
}

namespace troupe::sim {

class llm_operator {
 public:
  struct environment {
    const cluster_spec& cluster;
    const workload_spec& workload;
    timeline& time;
    std::function<node_runtime*(node_id)> runtime_of;
    /// An actor's answer to a command; not `ok` if there is none.
    std::function<command_reply(const address&, const std::string& type, const std::string& fields)> ask;
  };
  /// What the leader said to a `scale_event`.
  struct scale_answer {
    llm_id model;
    bool ok = false;
    std::string body;
  };
  struct counts {
    uint64_t migrations = 0, drains = 0, adapter_changes = 0, scales = 0;
  };

  llm_operator(const environment& s, uint64_t seed) : env_(s), random_(seed, "text operator") {}

  /// Runs until the workload ends, `workload.llm_changes_per_s` changes a second.
  void start();
  const counts& done() const { return counts_; }
  /// In the order of the workload's events.
  const std::vector<scale_answer>& scale_answers() const { return scale_answers_; }

 private:
  void schedule();
  void inject_move();
  void migrate_some(llm_id model);
  void drain_some();
  void scale_some(llm_id model);
  /// The answer of the leader; not `ok` and empty without one.
  command_reply scale(llm_id model, uint32_t instances, uint32_t prefill = 0);
  void change_some_adapter(llm_id model);
  address router(llm_id model) const;

  const environment env_;
  random_stream random_;
  duration end_{};
  uint64_t next_token_ = 1;
  counts counts_;
  std::vector<scale_answer> scale_answers_;
};

}  // namespace troupe::sim
