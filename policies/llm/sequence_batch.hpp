// All sequences of an engine: plans its steps, prepares sampling, and applies the chosen tokens. Adds to the
// step scheduler the state of each sequence.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "messages/llm/token_choice.hpp"
#include "policies/llm/step_scheduler.hpp"

namespace troupe::llm {

inline sampling_params greedy() {
  sampling_params s;
  s.temperature = 0;
  return s;
}

struct sequence_request {
  std::vector<token> prompt = {};
  std::vector<token> generated = {};  ///< generated on another engine; fewer than `max_tokens`
  adapter_id adapter = base_model;
  uint32_t max_tokens = 16;
  sampling_params sampling = greedy();
  std::vector<token> stop = {};  ///< any of these ends the sequence, and is its last token
  uint32_t top = 0;              ///< number of most likely tokens to return with each
  int32_t priority = 0;          ///< these as in `new_sequence`
  time_point turn = {};
  time_point due = never;
  duration tpot = {};
  prefix_scope scope = {};
  size_t offered = 0;
  bool prefill_only = false;
};

class sequence_batch {
 public:
  using refusal = step_scheduler::refusal;

  /// A token of a sequence, from one step.
  struct step_token {
    sequence_id sequence;
    const chosen_token* chosen = nullptr;        ///< valid until the next step; null: the logits were invalid
    finish_reason finish = finish_reason::none;  ///< not `none`: the sequence has ended and is forgotten
    uint32_t cached = 0;  ///< with its first token: tokens of the prompt that were cached
    bool ended() const { return chosen == nullptr || finish != finish_reason::none; }
  };

  explicit sequence_batch(scheduler_limits limits, std::unique_ptr<prefill_timing> timing = nullptr)
      : scheduler_(limits, std::move(timing)) {}

  struct added {
    sequence_id id;
    refusal refused = refusal::none;
  };
  added add(sequence_request r);
  /// Forgets a sequence that has not ended.
  void cancel(sequence_id id);
  /// The same for a stopped one, but not its keys and values (step_scheduler::take).
  step_scheduler::kept_blocks take(sequence_id id);

  /// Plans the next step; without rows if there is nothing to do, or not yet (step_scheduler::plan).
  /// `samplings` has the sampling inputs by entry of its `sampled`. Both stay valid until the step is done,
  /// whatever is added or cancelled meanwhile. Requires: at most one step is under way.
  const llm_step& plan(const step_context& context = {});
  std::span<const token_sampling> samplings() const { return choices_[planned_].samplings; }
  /// The first step under way is done; `chosen` is by entry of its `sampled`. Returns the tokens of its
  /// sequences, except those that were cancelled or had ended before.
  std::span<const step_token> done(std::span<const chosen_token> chosen);

  /// All steps under way and all keys and values of the device are lost. Sequences stay known; running ones
  /// wait again.
  void fail_steps();

  const step_scheduler& scheduler() const { return scheduler_; }
  step_scheduler& scheduler() { return scheduler_; }

 private:
  struct open_sequence {
    sequence_request asked;
    uint32_t generated = 0;
    bool gone = false;                        // cancelled or ended; steps under way may contain it
    std::vector<token_frequency> counts;      // of its tokens, for penalties
    std::unordered_map<token, size_t> place;  // in `counts`

    bool has_penalties() const { return asked.sampling.has_penalties(); }
    token_frequency& count(token t);
  };
  void forget(sequence_id id);

  /// Sampling inputs of a step; the device may read them until the step is done.
  struct choices {
    std::vector<token_sampling> samplings;
    std::vector<token_frequency> counts;                    // of all `samplings`
    std::vector<std::shared_ptr<open_sequence>> sequences;  // by entry of `samplings`
  };

  step_scheduler scheduler_;
  std::unordered_map<sequence_id, std::shared_ptr<open_sequence>> known_;
  std::array<choices, 2> choices_;
  uint32_t first_ = 0, planned_ = 0;  // of the first step under way; of the one planned last
  std::vector<sampled_token> sampled_;
  std::vector<step_token> results_;
  uint64_t next_id_ = 1;
};

}  // namespace troupe::llm
