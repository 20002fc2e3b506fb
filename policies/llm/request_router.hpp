// Punica's scheduler (§5): where the requests of a language model are, who waits for an engine, and who moves
// to another. Knows engines by what they say of themselves now and then, requests by what gateways say.
//
// - A new request goes to an engine with room: fewer sequences than run there at once, and KV blocks for its
//   tokens and for one more block of every sequence. Which of these, `routing_policy` says.
// - Where none has room it waits: by priority, then by its turn (policies/llm/queue_turn.hpp). Nobody passes
// one who
//   waits for any engine.
// - Whose first token cannot be there in time is refused: by what engines say of their steps and have to
//   prefill, and by how many requests end a second. An engine without sequences always tries.
// - An engine that runs out of KV blocks preempts its newest sequence, which moves if another engine has
// room.
// - An engine that is closed, or leaves, gives its requests to others as they have room.
// - Consolidation: the emptiest engine gives all it has to fuller ones, if they have room for all of it.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "messages/llm/generation.hpp"
#include "messages/llm/routing.hpp"
#include "messages/tensor/request.hpp"
#include "policies/common/rate_meter.hpp"
#include "policies/llm/routing_policy.hpp"

namespace troupe {

class request_router {
 public:
  struct options {
    std::vector<engine_id> engines;  ///< ascending
    /// An engine that has said nothing yet may still come: nobody is refused for want of it so long.
    duration patience = 2s;
    uint32_t max_waiting = 1024;  ///< requests; the last of the queue is refused beyond
    /// What an engine says of itself is at most so old, and a request that it was given since not in it.
    duration status_age = 250ms;
  };
  struct decision {
    address gateway;
    placement to;
    drop_reason refused = drop_reason::none;  ///< else it goes nowhere
  };
  /// Names are long to compare: each has a number.
  using adapter_number = uint32_t;
  static constexpr adapter_number base_model = 0;

  struct engine {
    engine_status said;
    time_point said_at = long_ago;
    bool up = false;
    bool heard = false;          ///< it has said something, since we know of it at all
    bool closed = false;         ///< by an operator
    std::vector<bool> adapters;  ///< by number: its requests may name it
    std::vector<std::pair<adapter_number, uint32_t>> running;  ///< requests here, by adapter
    std::vector<adapter_number> resident;  ///< in slots, as far as we know: who was used last is last
    uint32_t sequences = 0;                ///< of requests here
    std::set<request_id> requests;
    struct arrival {
      time_point at;
      uint64_t tokens;
    };
    std::deque<arrival> fresh;  ///< that `said` may not count yet
    uint64_t fresh_tokens = 0;

    bool open() const { return up && said.ready && !closed; }
    bool has(adapter_number a) const { return a == base_model || (a < adapters.size() && adapters[a]); }
  };
  struct request {
    address gateway;
    routed_request asked;  ///< `at`: where it is now
    route_reason why = route_reason::placed;
  };
  struct counts {
    std::array<uint64_t, route_reason_count> moved{};  ///< by reason
    uint64_t refused = 0;
  };

  request_router(options o, std::unique_ptr<routing_policy> routing);

  void on_status(const engine_status& s, time_point now);
  void on_adapters(const adapters_known& a);
  /// It is gone. Its requests are nobody's until their gateways tell again.
  void lose_engine(engine_id id);
  /// False: there is no such engine.
  bool close(engine_id id, bool closed);

  void on_route(const address& gateway, const route& r);
  void on_end(request_id id, time_point now);
  void on_preempted(const sequences_preempted& e);
  void lose_gateway(node_id node);
  void clear();

  /// Asked for by an operator. Why not; empty: it moves with the next `decide`.
  std::string migrate(request_id id, engine_id to, time_point now);
  /// Empties the emptiest engine if the others can take what it has: see above.
  void consolidate(time_point now);

  /// What follows from all that was told: valid until the next call.
  const std::vector<decision>& decide(time_point now);
  /// When the next first token is due of those who wait.
  time_point next_due() const;

  const std::map<engine_id, engine>& engines() const { return engines_; }
  const std::map<request_id, request>& requests() const { return requests_; }
  size_t waiting() const { return waiting_.size(); }
  const counts& counted() const { return counts_; }
  /// Of its KV cache, for new requests.
  static uint64_t free_tokens(const engine& e);
  static bool full(const engine& e);

 private:
  using place_in_queue = std::tuple<int32_t, time_point, request_id>;
  /// What goes to an engine together.
  struct load {
    uint32_t sequences = 0;
    uint64_t tokens = 0;
    duration tpot{};  ///< the least target; zero: none
  };

  static bool waits_for_first_token(const routed_request& r) { return r.due != never && !r.started; }
  static place_in_queue place_of(const routed_request& r);
  static bool in_time(const engine& e, const routed_request& r, time_point now);
  time_point place_after(size_t waiting, time_point now) const;
  bool infeasible(const routed_request& r, time_point now) const;
  void stop_waiting(const routed_request& r);
  static bool has_room(const engine& e, const load& with);
  static bool may_have(const engine& e, const routed_request& r, adapter_number a);
  engine_id choose(const routed_request& r, time_point now, engine_id other_than = no_engine);
  adapter_number number_of(const std::string& adapter) const;
  adapter_number number_for(const std::string& adapter);
  std::vector<std::pair<request_id, engine_id>> plan_emptying(engine_id id) const;
  void put(request& r, engine_id to);
  void take_from_engine(request& r);
  static void use_slot(engine& e, adapter_number a);
  static void forget_old(engine& e, time_point then);
  void forget(std::map<request_id, request>::iterator r);
  void move(request& r, engine_id to, route_reason why, time_point now);
  void place_waiting(time_point now);
  void move_preempted(time_point now);
  void empty_closed(time_point now);
  void refuse(request_id id, drop_reason why);

  const options options_;
  const std::unique_ptr<routing_policy> routing_;
  std::map<engine_id, engine> engines_;
  std::unordered_map<std::string, adapter_number> numbers_;  // of all adapters that there ever were
  std::map<request_id, request> requests_;
  std::set<place_in_queue> waiting_;
  std::set<std::pair<time_point, request_id>> dues_;  // of those that wait
  std::vector<request_id> newcomers_;                 // that were not told to wait yet
  std::set<request_id> preempted_;
  std::vector<decision> decisions_, taken_;
  std::vector<engine_load> loads_;
  counts counts_;
  rate_meter ends_;           // of requests that had an engine
  time_point began_ = never;  // the first `decide` of this incarnation
  bool warm_up_over_ = false;
  double ends_per_s_ = 0;  // as of the present `decide`
};

}  // namespace troupe
