// A whole cluster in one thread under virtual time: the real actors and policies on a simulated network, with
// emulated devices and a separate clock per node. The same seed gives the same run.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "messages/llm/commands.hpp"
#include "messages/scaling/commands.hpp"
#include "messages/tensor/decisions.hpp"
#include "messages/workload/workload.hpp"
#include "tools/common/trace_document.hpp"
#include "tools/sim/client_statistics.hpp"
#include "tools/sim/faults.hpp"
#include "tools/sim/images.hpp"
#include "tools/sim/llm_clients.hpp"
#include "tools/sim/llm_operator.hpp"
#include "tools/sim/scaling_orders.hpp"
#include "tools/sim/violations.hpp"

namespace troupe::sim {

struct world_options {
  uint64_t seed = 1;
  double hang_up = 0;  ///< fraction of the clients that hang up early
  /// A CAF host per actor gives more interleavings than a real node, whose actors share hosts.
  bool caf_host_per_actor = true;
  duration drain_at_most = 60s;   ///< after the workload; unfinished requests are then a violation
  request_id why{};               ///< report the decisions about this request; nothing else changes
  bool record = false;            ///< record the stations of requests and batches; nothing else changes
  bool instant = false;           ///< messages, pulls and turns take no time
  bool in_order = false;          ///< ready actors run in FIFO order, not in the seed's order
  uint32_t steps_ahead = 1;       ///< of language models' devices: emulated_engine_options
  bool trace_generations = true;  ///< fill `traced_generations`, which takes memory for each token
  image_sizes images = {};        ///< of language models that scale
  scaling_orders scaling = {};    ///< none: nothing
};

/// The devices' work for one model, after the warm-up.
struct device_statistics {
  uint64_t batches = 0, rows = 0;
  uint64_t preempted = 0;  ///< preempted batches, not counted above
  duration busy{};         ///< including that of preempted batches
};

/// The arbiter's advice at a time of the workload.
struct scale_point {
  duration at{};
  uint32_t gpus = 0;  ///< in service
  int32_t advice = 0;
};

struct world_result {
  std::vector<std::string> names;          ///< of the models: the cluster's, then the deployed ones
  std::vector<request_statistics> models;  ///< requests offered after the warm-up
  std::vector<device_statistics> devices;
  request_statistics total;          ///< all requests
  std::vector<llm_statistics> llms;  ///< by load of the workload
  std::vector<traced_generation_end> traced_generations;
  llm_operator::counts llm_changes;
  std::vector<std::vector<uint32_t>>
      engine_sequences;              ///< by engine, ten times a second, as known to the routers
  std::vector<uint64_t> llm_tokens;  ///< received so far, at the same times
  fault_counts hits_of_transfers{};  ///< transfers of weights with a fault on their way
  fault_counts hits_of_handovers{};  ///< the same of KV blocks
  uint64_t old_orders = 0;           ///< of former leaders, which reached parameter shards
  scaling_times scaling;             ///< of the orders in the options
  std::vector<llm_operator::scale_answer> scale_answers;
  parameter_pool_state pool;                        ///< the leader's, at the end
  std::vector<scaling_decision> scaling_decisions;  ///< by planner, the newest first
  std::vector<llm_engine_state> engines;            ///< at the end; the initial state if its node is down
  std::vector<llm_router_state> routers;     ///< at the end, by language model: of the most active router
  std::vector<incarnation_id> incarnations;  ///< the latest of each node, at the end; counted from 1
  size_t terms = 0;                          ///< number of terms that workers heard of
  duration load_began{};                     ///< true time of the workload's beginning
  duration measured{};                       ///< from the end of the warm-up to the end of the workload
  uint64_t trace_hash = 0;
  uint64_t events = 0;    ///< of the timeline
  uint64_t messages = 0;  ///< delivered to actors
  bool ledger_balanced = true;
  std::vector<violation> violations;
  fault_counts faults{};                ///< injected
  fault_counts hits{};                  ///< requests in flight that they hit
  trace_records records;                ///< if recorded, in true time
  std::vector<scale_point> scale;       ///< ten a second; none if the cluster has no autoscale advice
  std::optional<decision_story> story;  ///< of `world_options::why`, if a queue remembers the request
};

class world {
 public:
  /// Models need a latency in the workload or in the cluster. `cluster` is adjusted to the workload's SLOs
  /// and latencies.
  world(cluster_spec cluster, workload_spec workload, const world_options& o);
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  /// Starts the nodes, waits until the cluster is ready, runs the workload with its faults, waits until every
  /// request has its outcome, and checks the invariants.
  world_result run();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe::sim
