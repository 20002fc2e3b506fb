// Request router of a language model (Punica's scheduler, §5): it places requests on engines, queues them,
// and migrates them. It knows engines by their periodic status, and requests by messages of gateways.
//
// - A new request goes to an engine with room: fewer sequences than its maximum, and KV blocks for the
//   request's tokens plus one more block per sequence. `routing_policy` chooses among these.
// - If no engine has room it waits, by priority and then by turn (policies/llm/queue_turn.hpp). No request
//   overtakes one that waits for any engine.
// - Requests whose TTFT target is infeasible are refused, judged by the engines' step forecasts and
//   uncomputed tokens, and by the rate at which requests end. An engine without sequences always tries.
// - An engine that runs out of KV blocks preempts the newest of its least important sequences. That sequence
//   is migrated if another engine has room.
// - A closed or leaving engine hands its requests to others as they have room.
// - With the routing policy `prefix`, engines tell which blocks their prefix caches hold
//   (policies/llm/prefix_index.hpp).
// - If engines prefill or decode only (BlitzScale §2.1), a request gets one of each: the one with the fewest
// tokens
//   to prefill before the request's first one, and one with room to decode it, which is kept meanwhile. So
//   prefills wait while no engine has room to decode. While all engines of a phase are away, the others take
//   whole requests.
// - Consolidation: the emptiest engine hands all its requests to fuller ones if they have room for all.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "messages/llm/routing.hpp"
#include "messages/tensor/request.hpp"
#include "policies/common/rate_meter.hpp"
#include "policies/llm/prefix_index.hpp"
#include "policies/llm/routed_engine.hpp"
#include "policies/llm/routing_policy.hpp"

namespace troupe {

class request_router {
 public:
  struct options {
    std::vector<engine_id> engines;  ///< ascending
    /// Time in which engines may still appear, at first and after a gateway has come over from another
    /// router; until then no request is refused for lack of one.
    duration patience = 2s;
    uint32_t max_waiting = 1024;  ///< requests; beyond, the last of the queue is refused
    /// Maximum age of a status; a request placed since may not be in it.
    duration status_age = 250ms;
    /// Without any engine, time for which a request waits for one that could be started. Zero: engines are
    /// never started.
    duration cold_start{};
    bool by_prefix = false;      ///< `routing` wants to know which blocks engines hold
    bool disaggregated = false;  ///< engines prefill or decode only
  };
  struct decision {
    address gateway;
    placement to;
    drop_reason refused = drop_reason::none;  ///< if set, the request is dropped
  };
  struct request {
    address gateway;
    routed_request asked;  ///< `at`, `decode_at`: its current engines
    route_reason why = route_reason::placed;
    time_point since = never;  ///< it waits for an engine since then
  };
  /// Sequences that go on, and their tokens.
  struct sequence_load {
    uint32_t sequences = 0;
    uint64_t tokens = 0;
  };
  struct counts {
    std::array<uint64_t, route_reason_count> moved{};  ///< by reason
    uint64_t refused = 0;
  };

  request_router(options o, std::unique_ptr<routing_policy> routing);

  void on_status(const engine_status& s, time_point now);
  void on_adapters(const adapters_known& a);
  /// False: a message was missed, and the engine is to be asked for all blocks.
  [[nodiscard]] bool on_cached(const troupe::cached_blocks& b, time_point now);
  /// Different blocks that engines hold.
  size_t cached_blocks() const { return index_ ? index_->blocks() : 0; }
  /// The engine is lost. Its requests have no engine until their gateways report them again.
  void lose_engine(engine_id id);
  /// False if there is no such engine.
  bool close(engine_id id, bool closed);

  void on_route(const address& gateway, const route& r, time_point now);
  void on_end(request_id id, time_point now);
  void on_preempted(const sequences_preempted& e);
  void lose_gateway(node_id node);
  void clear();

  /// Command of an operator. Returns the reason of a refusal; empty: the next `decide` moves it.
  std::string migrate(request_id id, engine_id to, time_point now);
  /// Empties the emptiest engine if the others have room for all its requests.
  void consolidate(time_point now);

  /// Decisions on all changes since the last call; valid until the next call.
  const std::vector<decision>& decide(time_point now);
  /// The earliest due time of a waiting request's first token.
  time_point next_due() const;

  const std::map<engine_id, routed_engine>& engines() const { return engines_; }
  const std::map<request_id, request>& requests() const { return requests_; }
  size_t waiting() const { return waiting_.size(); }
  /// Of requests that wait for an engine.
  sequence_load waiting_load() const;
  /// A request waits, and an engine has to be started for it.
  bool wants_instance() const { return wants_instance_; }
  const counts& counted() const { return counts_; }

 private:
  using place_in_queue = std::tuple<int32_t, time_point, request_id>;
  using load = routed_engine::load;
  struct choice {
    engine_id to = no_engine, decode_at = no_engine;
  };

  static place_in_queue place_of(const routed_request& r);
  time_point place_after(size_t waiting, time_point now) const;
  bool infeasible(const routed_request& r, time_point now) const;
  void stop_waiting(const routed_request& r);
  size_t position_of(engine_id id) const;
  uint64_t cached_tokens(const routed_request& r, engine_id id);
  void weigh_prefixes(const routed_request& r);
  bool disaggregates() const;
  bool takes(const routed_engine& e, instance_phase as) const;
  engine_id best(const routed_request& r, instance_phase as, time_point now, engine_id other_than);
  choice choose(const routed_request& r, time_point now, engine_id other_than = no_engine);
  adapter_number number_of(const std::string& adapter) const;
  adapter_number number_for(const std::string& adapter);
  std::vector<std::pair<request_id, engine_id>> plan_emptying(engine_id id) const;
  void put(request& r, choice to);
  void take_from_engines(request& r);
  void forget(std::map<request_id, request>::iterator r);
  void move(request& r, choice to, route_reason why, time_point now);
  void decide_on(const request& r, route_reason why);
  void place_waiting(time_point now);
  bool may_start(const request& r, time_point now) const;
  void move_preempted(time_point now);
  void empty_closed(time_point now);
  void leave(engine_id id, time_point now);
  void redirect(request& r, time_point now);
  void redirect_orphans(time_point now);
  void refuse(request_id id, drop_reason why);

  const options options_;
  const std::unique_ptr<routing_policy> routing_;
  const std::unique_ptr<routing_policy> prefill_routing_;
  std::map<engine_id, routed_engine> engines_;
  std::unordered_map<std::string, adapter_number> numbers_;  // of all adapters ever seen
  std::map<request_id, request> requests_;
  std::set<place_in_queue> waiting_;
  std::set<std::pair<time_point, request_id>> dues_;  // of waiting requests
  std::vector<request_id> newcomers_;                 // requests that are not queued yet
  std::set<request_id> preempted_;
  std::set<request_id> orphans_;  // the engine that was to decode them is lost
  std::vector<decision> decisions_, taken_;
  std::vector<engine_load> loads_;
  std::optional<llm::prefix_index> index_;
  counts counts_;
  rate_meter ends_;           // of requests that had an engine
  time_point began_ = never;  // the `decide` from which on engines may still appear
  bool wants_instance_ = false;
  time_point cold_due_ = never;  // when the first request stops waiting for an engine to be started
  bool warm_up_over_ = false;
  bool split_ = false;     // as of the present `decide`: prefills and decodes are disaggregated
  double ends_per_s_ = 0;  // as of the present `decide`
};

}  // namespace troupe
