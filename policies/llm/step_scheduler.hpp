// What an engine runs next: continuous batching of one language model with many adapters (Punica §5, with
// prefills in chunks). A step mixes prompts, or chunks of them, with one token of every sequence that is
// being generated. Punica's takes one prompt at most; ours as many as fit into `prefill_chunk`.
//
// Sequences begin by priority, then by their turn (policies/llm/queue_turn.hpp), then first come, first
// served: when `prefill_timing` says so, unless one more would keep those that run from their targets. When
// KV blocks run out, the newest of the least important sequences that run gives up its own and waits again;
// later its prompt and what it has generated are prefilled anew. A sequence whose adapter is not loaded is
// passed by, but has its place among `max_waiting`: who cannot load an adapter cancels its sequences.
//
// The next step can be planned while one is under way, before it is known what that one chooses: rows then
// name a token by where it will be chosen. So that nobody is left behind this is done only if all that run
// can go on: every one has its block without another's giving up its own. Who comes waits for the end of a
// step that was planned before, one more than otherwise. A sequence that ends by a step has a row in the next
// one in vain; its blocks, and what it has of its adapter, are its own until that is done.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "messages/llm/step.hpp"
#include "policies/llm/kv_blocks.hpp"
#include "policies/llm/planned_step.hpp"
#include "policies/llm/prefill_timing.hpp"
#include "policies/llm/step_forecast.hpp"

namespace troupe::llm {

struct scheduler_limits {
  uint32_t max_sequences = 32;   ///< that run at once
  uint32_t prefill_chunk = 512;  ///< tokens of prompts in one step
  bool mix_adapters = true;      ///< false: sequences of one adapter at a time, as engines without SGMV do
  uint32_t blocks = 0;           ///< of the device's KV cache
  uint32_t block_tokens = 16;    ///< positions of a block
  uint32_t max_waiting = 4096;
};

struct new_sequence {
  sequence_id id;
  std::vector<token> prompt;
  uint32_t max_tokens = 0;  ///< generated ones at most, 1 or more
  adapter_id adapter = base_model;
  int32_t priority = 0;    ///< lower ones first
  time_point turn{};       ///< among those of its priority
  time_point due = never;  ///< of its first token; `never` also if it has got that elsewhere
  duration tpot{};         ///< target for the others; zero: none
};

/// What a step is planned with. Without a forecast nothing waits, and what is not due yet is not late.
struct step_context {
  time_point now = long_ago;
  step_forecast steps = {};
  double prompt_tokens = 0;  ///< that a step reads in the mean
};

/// What the device chose after a row of a step.
struct sampled_token {
  sequence_id sequence;
  token chosen = 0;
  bool last = false;  ///< the sequence ends with it
};

class step_scheduler {
 public:
  enum class refusal : uint8_t {
    none,
    empty,       ///< no prompt, or nothing to generate
    too_long,    ///< more KV blocks than there are
    queue_full,  ///< `max_waiting` wait already
  };

  explicit step_scheduler(scheduler_limits limits, std::unique_ptr<prefill_timing> timing = nullptr);
  ~step_scheduler();

  /// A sequence into the queue. Requires: its id is new.
  refusal add(new_sequence s);
  /// Forgets a sequence, if it is known, wherever it is; what steps under way compute for it is thrown away.
  void cancel(sequence_id id);

  /// The device has loaded the adapter; or it is to be unloaded, and no sequence begins with it any more. The
  /// base model is always there.
  void adapter_loaded(adapter_id a) { loaded_.insert(a); }
  void adapter_unloaded(adapter_id a) { loaded_.erase(a); }
  /// Those that sequences wait for, in the order in which they will be needed, each once, without the base
  /// model: `limit` that are not there at most, and those that are there and needed before the last of them.
  std::vector<adapter_id> wanted_adapters(size_t limit) const;
  /// Sequences that run with the adapter, or have ended and are in a step under way: as long as there are
  /// some it must stay on the device.
  uint32_t users(adapter_id a) const;

  /// Of sequences that run, and of those that wait; each once, without the base model.
  std::vector<adapter_id> running_adapters() const;
  std::vector<adapter_id> waiting_adapters() const;

  /// The next step, valid until it is done; without rows if there is nothing to do, or if it cannot be
  /// planned before the one under way is done. Requires: at most one is under way.
  const llm_step& plan(const step_context& context = {});
  uint32_t under_way() const { return under_way_; }
  /// When a prompt that is held back begins; `never`: none is.
  time_point begins_at() const { return begins_at_; }
  /// Those of the queue that cannot have their first token in time, as it was when a step was planned last:
  /// they wait on, and are to be cancelled.
  const std::vector<sequence_id>& late() const { return late_; }
  /// The first step under way is done: for every row of `llm_step::sampled` whose sequence was not cancelled
  /// meanwhile and has not ended, in any order, what was chosen. Sequences also end with `max_tokens`; one
  /// that was sampled and has no entry ends, too.
  void done(std::span<const sampled_token> chosen);

  /// The first one under way, or what `plan` has just given; and how many of its rows are decodes.
  const llm_step& step() const { return steps_[first_].step; }
  uint32_t decodes_of_step() const { return steps_[first_].decodes; }

  /// All steps under way are lost, and with them all keys and values: what runs gives its blocks back and
  /// waits again.
  void fail();

  uint32_t running() const { return static_cast<uint32_t>(running_.size()); }
  uint32_t waiting() const { return static_cast<uint32_t>(waiting_.size()); }
  uint64_t preemptions() const { return preemptions_; }
  /// Tokens of prompts that are to be prefilled yet.
  uint64_t uncomputed_tokens() const;
  /// Sequences that may run at once, so that those that run keep their targets.
  uint32_t max_running(const step_context& context) const;
  /// Sequences that gave their blocks up to older ones, since it was asked last: they wait, or have ended
  /// since.
  std::vector<sequence_id> take_preempted() { return std::exchange(preempted_, {}); }
  const kv_blocks& blocks() const { return blocks_; }
  bool idle() const { return running_.empty() && waiting_.empty() && ended_.empty(); }
  /// Null if it is not known (any more). Prompt first, then what was generated.
  const std::vector<token>* tokens(sequence_id id) const;

 private:
  size_t blocks_for(size_t positions) const;
  bool is_loaded(adapter_id a) const { return a == base_model || loaded_.contains(a); }
  bool admit(const step_context& context);
  bool delays_prefill(const step_context& context);
  void find_late(const step_context& context);
  void add_prompts(planned_step& to, const step_context& context);
  void queue(scheduled_sequence& s);
  bool reserve(scheduled_sequence& s, size_t positions);
  void preempt(scheduled_sequence& s);
  void release(scheduled_sequence& s);
  void end(scheduled_sequence& s);
  void forget(scheduled_sequence& s);
  bool prefilling() const;
  bool all_continue() const;

  const scheduler_limits limits_;
  const std::unique_ptr<prefill_timing> timing_;  // null: at once
  kv_blocks blocks_;
  std::unordered_map<sequence_id, std::unique_ptr<scheduled_sequence>> known_;
  std::deque<scheduled_sequence*> waiting_;             // by priority and turn
  std::vector<scheduled_sequence*> running_;            // by priority and arrival
  std::vector<scheduled_sequence*> ended_;              // that steps under way have yet
  std::vector<scheduled_sequence*> prompts_, decodes_;  // of the step that is being made
  std::unordered_set<adapter_id> loaded_;
  std::array<planned_step, 2> steps_;
  uint32_t first_ = 0, under_way_ = 0;  // of `steps_`, in turns
  time_point begins_at_ = never;
  std::vector<sequence_id> late_;
  uint64_t arrivals_ = 0, preemptions_ = 0;
  std::vector<sequence_id> preempted_;
};

}  // namespace troupe::llm
