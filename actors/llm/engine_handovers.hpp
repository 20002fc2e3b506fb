// The part of an engine in hand-overs of requests (messages/llm/handover.hpp). As the former engine it stops
// a request and leases its blocks; as the next one it pulls the blocks of a request that has begun.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "actors/llm/kv_leases.hpp"
#include "actors/llm/kv_pulls.hpp"
#include "policies/llm/generation_batch.hpp"

namespace troupe {

class engine_handovers {
 public:
  /// What an engine has while its model is loaded.
  struct loaded_engine {
    llm::generation_batch& batch;
    llm::engine_device& device;
    const llm::engine_facts& facts;
  };

  engine_handovers(address self, engine_id id, memory_port& memory)
      : id_(id), leases_(memory), pulls_(self, memory) {}

  // as the former engine

  void order(const address& gateway, const hand_over& h);
  bool has_orders() const { return !leaving_.empty(); }
  /// A request that has left.
  struct departure {
    address gateway;
    handed_over answer;
    std::optional<llm::adapter_id> adapter;  ///< of the request, if the engine had it
  };
  /// Those of the ordered requests that no step under way contains, or that the engine does not have.
  /// `engine` null: no model is loaded.
  std::vector<departure> depart(const loaded_engine* engine, time_point now);
  kv_leases& leases() { return leases_; }
  const kv_leases& leases() const { return leases_; }
  void forget_orders() { leaving_.clear(); }

  // as the next engine

  /// A request comes back with an offer of this engine. It copies the blocks, if it has room for both; with a
  /// prefix cache they are found there. Otherwise the offer ends: returns the blocks that are to be released.
  kv_leases::blocks take_back(kv_offer& o, const loaded_engine& engine, bool prefix_cache);
  /// Removes the parts of a request's offer that the engine cannot use, or that are of ended choices.
  static void drop_unusable_parts(generation& g, const loaded_engine& engine);
  /// The request was accepted with this offer, or refused.
  void accepted(request_id id, kv_offer&& o);
  void refused(kv_offer&& o);
  /// Pulls for the sequences that have begun.
  void begin_pulls(const loaded_engine& engine);
  /// The blocks of a sequence are there, or will not come. False: it is not a pull of this engine's.
  bool end_pull(const pulled& p, const loaded_engine& engine);
  kv_pulls& pulls() { return pulls_; }
  const kv_pulls& pulls() const { return pulls_; }

 private:
  struct leaving_request {
    address gateway;
    hand_over order;
  };
  const engine_id id_;
  kv_leases leases_;
  kv_pulls pulls_;
  std::vector<leaving_request> leaving_;
};

}  // namespace troupe
