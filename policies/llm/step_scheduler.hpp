// Step scheduler of an engine: continuous batching of one language model with many adapters (Punica §5), with
// chunked prefill. A step mixes prompts, or chunks of them, with one token of every decoding sequence.
// Punica's steps hold at most one prompt; ours as many as fit into `prefill_chunk`.
//
// Sequences begin by priority, then by turn (policies/llm/queue_turn.hpp), then in order of arrival: when
// `prefill_timing` says so, and if the targets of running sequences allow one more. When KV blocks run out,
// the newest of the least important running sequences is preempted: it gives up its blocks and waits again;
// later its prompt and generated tokens are prefilled anew, unless their blocks are still cached. A sequence
// whose adapter is not loaded is passed over but keeps its place among `max_waiting`. If an adapter cannot be
// loaded, the caller cancels its sequences.
//
// Sequences that begin alike share KV blocks (policies/llm/prefix_cache.hpp). Those of ended and preempted
// sequences stay cached; they are evicted before a sequence is preempted.
//
// A sequence can be handed over (messages/llm/handover.hpp): its engine stops it and keeps its blocks; the
// next engine reserves blocks, fills those that it lacks from there, and continues it. One that only prefills
// stops by itself after the next token; it keeps its blocks unless others that wait could not begin
// otherwise.
//
// The next step can be planned while one is under way, before its tokens are known: rows then refer to a
// token by the position where it will be chosen. This is done only if all running sequences can continue
// without preemption. A new sequence waits for the end of a step that is already planned, so up to one step
// longer. A finished sequence may have one wasted row in the next step; its blocks and adapter stay pinned
// until then.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "messages/llm/step.hpp"
#include "policies/llm/planned_step.hpp"
#include "policies/llm/prefill_timing.hpp"
#include "policies/llm/prefix_cache.hpp"
#include "policies/llm/step_forecast.hpp"
#include "policies/llm/waiting_sequences.hpp"

namespace troupe::llm {

struct scheduler_limits {
  uint32_t max_sequences = 32;   ///< running at once
  uint32_t prefill_chunk = 512;  ///< tokens of prompts in one step
  bool mix_adapters = true;      ///< false: sequences of one adapter at a time, as in engines without SGMV
  uint32_t blocks = 0;           ///< of the device's KV cache
  uint32_t block_tokens = 16;    ///< positions of a block
  uint32_t max_waiting = 4096;
  bool prefix_cache = false;  ///< sequences share blocks
  bool tells_cached = false;  ///< keeps changes of cached blocks until they are taken
  llm::prefix_cache::faults planted = {};
};

struct new_sequence {
  sequence_id id;
  std::vector<token> prompt;
  uint32_t max_tokens = 0;  ///< maximum of generated tokens, at least 1
  adapter_id adapter = base_model;
  int32_t priority = 0;     ///< lower ones first
  time_point turn{};        ///< order within its priority
  time_point due = never;   ///< of its first token; `never` also if another engine generated it
  duration tpot{};          ///< target for the others; zero: none
  prefix_scope scope = {};  ///< it shares blocks with sequences of this scope, which have the same adapter
  size_t offered = 0;       ///< its first positions, less than all, whose keys and values another engine has
  bool prefill_only = false;  ///< it stops after the next token, as by `stop`
};

/// Inputs of planning a step. Without a forecast no sequence is delayed, and none is late before its due
/// time.
struct step_context {
  time_point now = long_ago;
  step_forecast steps = {};
  double prompt_tokens = 0;  ///< mean per step
};

/// A token that the device chose after a row of a step.
struct sampled_token {
  sequence_id sequence;
  token chosen = 0;
  bool last = false;  ///< the sequence ends with it
  bool valid = true;  ///< the logits were; else nothing that was computed for its scope is shared any more
};

class step_scheduler {
 public:
  enum class refusal : uint8_t {
    none,
    empty,       ///< no prompt, or nothing to generate
    too_long,    ///< more KV blocks than there are
    queue_full,  ///< `max_waiting` sequences wait already
  };

  explicit step_scheduler(scheduler_limits limits, std::unique_ptr<prefill_timing> timing = nullptr);
  ~step_scheduler();

  /// Queues a sequence. Requires: its id is new.
  refusal add(new_sequence s);
  /// Forgets a sequence, waiting or running, if it is known. Results of steps under way for it are discarded.
  void cancel(sequence_id id);

  /// From now on no planned step contains the sequence. Requires: it is known.
  void stop(sequence_id id);
  /// It is stopped, no step under way contains it, and nothing arrives for it. Requires: it is known.
  bool can_take(sequence_id id) const;
  /// Blocks of a sequence that is no longer known. They must be given to `release`.
  struct kept_blocks {
    held_blocks kv;
    size_t positions = 0;  ///< whose keys and values they have
  };
  kept_blocks take(sequence_id id);
  void release(held_blocks& kv) { blocks_.release(kv); }

  /// A sequence with an offer has begun. The caller fills the blocks from number `first_block` on, and then
  /// calls `arrived`, also if the sequence was cancelled meanwhile. No blocks: it does without its offer.
  struct arrival {
    sequence_id id;
    size_t first_block = 0, positions = 0;
    std::span<const uint32_t> blocks;  ///< valid until the next call
  };
  /// Those since the last call.
  std::vector<arrival> take_arriving();
  /// `complete`: the blocks have the offered positions; else these are computed.
  void arrived(sequence_id id, bool complete);

  /// The device has loaded the adapter, or will unload it: then no sequence begins with it. The base model is
  /// always loaded.
  void adapter_loaded(adapter_id a) { loaded_.add(a); }
  void adapter_unloaded(adapter_id a) { loaded_.remove(a); }
  /// waiting_sequences::wanted_adapters
  std::vector<adapter_id> wanted_adapters(size_t limit) const {
    return waiting_.wanted_adapters(loaded_, limit);
  }
  /// Sequences with the adapter that run, or have ended or stopped but are in a step under way, or whose keys
  /// and values arrive. The adapter must stay on the device while there are any.
  uint32_t users(adapter_id a) const;

  /// Adapters of running and of waiting sequences, each once, without the base model.
  std::vector<adapter_id> running_adapters() const;
  std::vector<adapter_id> waiting_adapters() const;

  /// Plans the next step, valid until it is done. It has no rows if there is nothing to do, or if it cannot
  /// be planned before the one under way is done. Requires: at most one is under way.
  const llm_step& plan(const step_context& context = {});
  uint32_t under_way() const { return under_way_; }
  /// When a delayed prompt begins; `never`: none is delayed.
  time_point begins_at() const { return begins_at_; }
  /// Waiting sequences whose TTFT target was infeasible when a step was last planned. They stay queued until
  /// the caller cancels them.
  const std::vector<sequence_id>& late() const { return late_; }
  /// The first step under way is done. `chosen`: the token of every row in `llm_step::sampled` whose sequence
  /// was not cancelled and had not ended, in any order. Sequences also end at `max_tokens`, and if they were
  /// sampled but have no entry.
  void done(std::span<const sampled_token> chosen);

  /// The first step under way, or the one that `plan` has just returned; and its number of decodes.
  const llm_step& step() const { return steps_[first_].step; }
  uint32_t decodes_of_step() const { return steps_[first_].decodes; }

  /// All steps under way and all keys and values are lost. Running sequences give up their blocks and wait
  /// again.
  void fail();

  /// With those whose keys and values arrive.
  uint32_t running() const { return static_cast<uint32_t>(running_.size() + arriving_.size()); }
  uint32_t waiting() const { return static_cast<uint32_t>(waiting_.size()); }
  uint64_t preemptions() const { return preemptions_; }
  /// Tokens that are not prefilled yet.
  uint64_t uncomputed_tokens() const;
  /// Maximum of running sequences that keeps the targets of those that run.
  uint32_t max_running(const step_context& context) const;
  /// Sequences preempted since the last call: they wait, or have ended since.
  std::vector<sequence_id> take_preempted() { return std::exchange(preempted_, {}); }
  const llm::prefix_cache& blocks() const { return blocks_; }
  /// Tokens that sequences had when they began for the first time, and those of them that were cached.
  struct cache_counts {
    uint64_t queried = 0, hit = 0;
  };
  const cache_counts& cache_use() const { return cache_use_; }
  /// Of a known sequence that has begun.
  size_t cached_tokens(sequence_id id) const;
  std::vector<block_change> take_cache_changes() { return blocks_.take_changes(); }
  /// The weights of the adapter have changed, or it will not be used again.
  void drop_cached(adapter_id a) { blocks_.drop(a); }
  bool idle() const { return known_.empty(); }
  /// Prompt, then generated tokens. Null if the sequence is not known.
  const std::vector<token>* tokens(sequence_id id) const;

 private:
  size_t blocks_for(size_t positions) const;
  scheduled_sequence* admit(const step_context& context);
  bool delays_prefill(const step_context& context);
  void find_late(const step_context& context);
  bool begin(scheduled_sequence& s);
  void run(scheduled_sequence& s);
  void look_up(scheduled_sequence& s) const;
  void add_prompts(planned_step& to, const step_context& context);
  bool reserve(scheduled_sequence& s, size_t positions);
  void preempt(scheduled_sequence& s);
  void release(scheduled_sequence& s);
  bool release_stopped();
  void end(scheduled_sequence& s);
  void forget(scheduled_sequence& s);
  bool prefilling() const;
  bool all_continue() const;

  const scheduler_limits limits_;
  const std::unique_ptr<prefill_timing> timing_;  // null: at once
  llm::prefix_cache blocks_;
  std::unordered_map<sequence_id, std::unique_ptr<scheduled_sequence>> known_;
  waiting_sequences waiting_;
  std::vector<scheduled_sequence*> running_;            // by priority and arrival
  std::vector<scheduled_sequence*> ended_;              // contained in steps under way
  std::vector<scheduled_sequence*> stopped_;            // neither waiting nor running
  std::vector<scheduled_sequence*> arriving_;           // in the order in which they began
  size_t arrivals_taken_ = 0;                           // of `arriving_`
  std::vector<sequence_id> covered_;                    // they have begun, and need nothing of their offers
  std::vector<scheduled_sequence*> prompts_, decodes_;  // of the planned step
  loaded_adapters loaded_;
  std::array<planned_step, 2> steps_;
  uint32_t first_ = 0, under_way_ = 0;  // of `steps_`, cyclic
  time_point begins_at_ = never;
  std::vector<sequence_id> late_;
  uint64_t arrivals_ = 0, preemptions_ = 0;
  cache_counts cache_use_;
  std::vector<sequence_id> preempted_;
};

}  // namespace troupe::llm
