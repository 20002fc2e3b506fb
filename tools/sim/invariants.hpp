// Invariants of every run under any faults, one small checker each. The checkers observe the whole cluster
// and count on their own.
#pragma once
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/runtime/caf_types.hpp"
#include "actors/tensor/gateway.hpp"
#include "gpu/device/device.hpp"
#include "messages/cluster/cluster.hpp"
#include "messages/workload/workload.hpp"
#include "policies/common/ledger.hpp"
#include "tools/sim/client_statistics.hpp"
#include "tools/sim/order_log.hpp"
#include "tools/sim/plan_check.hpp"
#include "tools/sim/shard_order_check.hpp"
#include "tools/sim/violations.hpp"

namespace troupe::sim {

/// Every request gets exactly one outcome, and all of them by the end.
class outcome_check {
 public:
  explicit outcome_check(violations& v) : violations_(v) {}
  void unknown_answer(request_id id);
  void at_end(size_t unfinished);

 private:
  violations& violations_;
};

/// A gateway's ledger balances and agrees with what its clients counted.
class ledger_check {
 public:
  explicit ledger_check(violations& v) : violations_(v) {}

  void accepted(node_id gateway, model_id model) { ++count_[{gateway, model}].accepted; }
  void answered(node_id gateway, model_id model, const outcome& how);
  /// The process on the node started: its ledger is empty.
  void begin(node_id gateway);
  void report(node_id gateway, const std::vector<std::string>& models, const group_report& said);

 private:
  violations& violations_;
  std::map<std::pair<node_id, model_id>, outcome_counts> count_;
};

/// No batch starts after the latest time of its order, nor when it cannot meet the deadlines of its requests
/// any more, nor with more rows than its model takes, nor with requests of different shapes.
class start_check {
 public:
  /// `tolerance`: clock error beyond the cluster's assumption.
  start_check(violations& v, duration tolerance) : violations_(v), tolerance_(tolerance) {}
  void started(slot_id slot, const order_log::order& o, time_point now);
  /// `latest`: the latest start for this request, in true time.
  void started(slot_id slot, request_id id, duration now, duration latest);
  void started(slot_id slot, uint32_t rows, const model_spec& model);
  void started_mixed(slot_id slot, request_id id, uint64_t shape, uint64_t others);

 private:
  violations& violations_;
  const duration tolerance_;
};

/// No slot runs two batches at once.
class slot_check {
 public:
  explicit slot_check(violations& v) : violations_(v) {}
  void started_while_running(slot_id slot);

 private:
  violations& violations_;
};

/// No batch runs bytes of requests that it was not ordered to run; no client gets another's output.
class bytes_check {
 public:
  explicit bytes_check(violations& v) : violations_(v) {}
  void foreign_input(slot_id slot, model_id model);
  void answered(const client_request_record& r, std::span<const std::byte> output, size_t expected_bytes);

 private:
  violations& violations_;
};

/// When all requests are done and acknowledged, the slot pools of living nodes are empty.
class memory_check {
 public:
  explicit memory_check(violations& v) : violations_(v) {}
  void at_end(node_id node, size_t slots, uint64_t bytes);

 private:
  violations& violations_;
};

/// A poison request crashes at most two workers of which its gateway hears, and one more in each term whose
/// leader ends before it says so. No other request fails as poison, unless processes crash or connections
/// break for other reasons, which a queue cannot distinguish.
class poison_check {
 public:
  poison_check(violations& v, bool crashes_distinguished)
      : violations_(v), crashes_distinguished_(crashes_distinguished) {}
  void sent(request_id id) { poisons_[id] = {}; }
  bool is_poison(request_id id) const { return poisons_.contains(id); }
  /// A batch of this term crashed the worker.
  void killed(request_id id, node_id worker, term_id term);
  /// Its queue sends that it is a suspect.
  void told(request_id id) { poisons_[id].untold.reset(); }
  /// Its gateway hears that it is a suspect.
  void heard(request_id id) { ++poisons_[id].heard; }
  void failed(request_id id, failure why);

 private:
  violations& violations_;
  const bool crashes_distinguished_;
  struct kills {
    uint32_t heard = 0;
    std::optional<term_id> untold;  ///< term of the latest
  };
  std::unordered_map<request_id, kills> poisons_;
};

/// A device runs only loaded models; a running model is not unloaded.
class loaded_check {
 public:
  explicit loaded_check(violations& v) : violations_(v) {}
  void started_unloaded(slot_id slot, model_id model);
  void unloaded_while_running(slot_id slot, model_id model);

 private:
  violations& violations_;
};

/// No request is lost because a node drains.
class drain_check {
 public:
  explicit drain_check(violations& v) : violations_(v) {}
  /// `waiting`: clients without an answer, of its gateway, or of any gateway if it is the scheduler;
  /// `running`: its busy devices.
  void left(node_id node, size_t waiting, size_t running);

 private:
  violations& violations_;
};

/// Without faults, no tenant has more of a gateway's requests on the slots than its concurrency, including
/// requests of disconnected clients.
class quota_check {
 public:
  quota_check(violations& v, bool fault_free) : violations_(v), fault_free_(fault_free) {}
  void asked(request_id id, node_id gateway, uint32_t tenant, uint32_t concurrency);
  void started(slot_id slot, const std::vector<request_id>& requests);
  /// `stopped`: the requests will run again.
  void ended(slot_id slot, bool stopped);

 private:
  struct asking {
    std::pair<node_id, uint32_t> who;
    uint32_t concurrency;
  };
  violations& violations_;
  const bool fault_free_;
  std::unordered_map<request_id, asking> requests_;  // of tenants with a concurrency
  std::map<std::pair<node_id, uint32_t>, uint32_t> running_;
  std::map<slot_id, std::vector<request_id>> batches_;
};

/// At the end every living node serves the models that the operator requested last.
class deployment_check {
 public:
  explicit deployment_check(violations& v) : violations_(v) {}
  void wanted(const std::string& model, bool served) { wanted_[model] = served; }
  void at_end(node_id node, const std::set<std::string>& served);

 private:
  violations& violations_;
  std::map<std::string, bool> wanted_;
};

/// A run without faults fails no request.
class fault_free_check {
 public:
  fault_free_check(violations& v, bool fault_free) : violations_(v), fault_free_(fault_free) {}
  void failed(request_id id, failure why);

 private:
  violations& violations_;
  const bool fault_free_;
};

/// A slot that was handed over to a new scheduler, or got an order from it, starts no batch of an earlier
/// term.
class term_check {
 public:
  explicit term_check(violations& v) : violations_(v) {}
  void heard(slot_id slot, term_id term) {
    highest_[slot] = std::max(highest_[slot], term);
    terms_.insert(term);
  }
  void started(slot_id slot, term_id term);
  size_t terms() const { return terms_.size(); }
  /// The process has ended: the next one starts without state.
  void ended(slot_id slot) { highest_.erase(slot); }

 private:
  violations& violations_;
  std::map<slot_id, term_id> highest_;
  std::set<term_id> terms_;
};

/// An engine sends no token of a request that it has handed over, or that was cancelled there.
class home_check {
 public:
  explicit home_check(violations& v) : violations_(v) {}
  void delivered(const envelope& e, duration now);
  void sent(const envelope& e, duration now);

 private:
  using stay = std::pair<request_id, uint32_t>;
  violations& violations_;
  std::set<stay> left_;                 // with their attempts, each of which has one engine
  std::map<stay, duration> cancelled_;  // at an engine, and when; its tokens may leave in the same turn
};

/// While only schedulers die or freeze, no request runs on two slots at once. (With other faults a living
/// worker may be declared dead; its requests then run again.)
class single_execution_check {
 public:
  single_execution_check(violations& v, bool only_schedulers)
      : violations_(v), only_schedulers_(only_schedulers) {}
  void started(slot_id slot, const std::vector<request_id>& requests);
  /// The batch is done, or its worker began a new incarnation and does not answer for it.
  void ended(slot_id slot) { running_.erase(slot); }

 private:
  violations& violations_;
  const bool only_schedulers_;
  std::map<slot_id, std::vector<request_id>> running_;
};

/// All checkers of one run.
struct invariants {
  invariants(const duration& truth, const workload_spec& workload, const cluster_spec& cluster);
  invariants(const invariants&) = delete;
  invariants& operator=(const invariants&) = delete;

  violations broken;
  outcome_check outcomes{broken};
  ledger_check ledgers{broken};
  start_check starts;
  slot_check slots{broken};
  bytes_check bytes{broken};
  memory_check memories{broken};
  fault_free_check fault_free;
  poison_check poisons;
  loaded_check loaded{broken};
  drain_check drains{broken};
  quota_check quotas;
  deployment_check deployments{broken};
  term_check terms{broken};
  home_check homes{broken};
  single_execution_check once;
  plan_check plans;
  shard_order_check shard_orders{broken};
};

}  // namespace troupe::sim
