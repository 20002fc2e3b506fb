// Generation requests of an engine, each with the sequences of its choices.
//
// A request begins with all of its choices or not at all, and ends with the last of them: generated to its
// end, cancelled, or failed as a whole. Sequences alone are known to sequence_batch, below this.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "policies/llm/sequence_batch.hpp"

namespace troupe::llm {

/// Number of sequences that a request begins here: all choices, or those that continue from another engine.
inline uint32_t sequences_of(const generation& g) {
  return g.progress.empty() ? g.choices : static_cast<uint32_t>(g.progress.size());
}

class generation_batch {
 public:
  /// A request with choices that have not ended.
  struct in_flight {
    address gateway;
    uint32_t attempt = 1;
    adapter_id adapter;
    std::map<uint32_t, sequence_id> open;  ///< by choice
    bool prefill_only = false;             ///< as of `generation`
  };
  /// Result of a step for one choice.
  struct choice_token {
    request_id id;
    address gateway;
    uint32_t attempt = 1;
    uint32_t choice = 0;
    const chosen_token* chosen = nullptr;        ///< null: nothing to choose from; the request has failed
    finish_reason finish = finish_reason::none;  ///< of the choice
    bool last = false;                           ///< the request has ended and is forgotten
    adapter_id adapter;                          ///< of the request
    uint32_t cached = 0;  ///< with the first token of a choice: cached tokens of its prompt
  };

  explicit generation_batch(scheduler_limits limits, std::unique_ptr<prefill_timing> timing = nullptr)
      : sequences_(limits, std::move(timing)) {}

  /// False: a sequence does not fit into the KV cache, or the queue is full; nothing has changed. Requires:
  /// the id is new, `g.progress` names each choice once.
  [[nodiscard]] bool add(const generation& g, adapter_id adapter, const prefix_scope& scope = {});
  /// Ends a request, if it is known. Returns its adapter.
  std::optional<adapter_id> cancel(request_id id);
  /// Ends a choice, if it is open. Returns the request's adapter if the request ends with it.
  std::optional<adapter_id> end_choice(request_id id, uint32_t choice);

  /// Its choices are in no further step. False: the request is not known.
  bool stop(request_id id);
  /// A `prefill_only` request, all of whose open choices have stopped.
  bool has_prefilled(request_id id) const;
  /// A choice that another engine will continue. Its blocks must be given to step_scheduler::release.
  struct stopped_choice {
    uint32_t choice = 0;
    step_scheduler::kept_blocks kept;
  };
  struct stopped_request {
    in_flight was;
    std::vector<stopped_choice> choices;  ///< ascending
  };
  /// Forgets a stopped request, but not its keys and values. Nothing: a choice can not yet be taken
  /// (step_scheduler::can_take).
  std::optional<stopped_request> take(request_id id);
  /// The request and the choice of a sequence that has not ended.
  std::optional<std::pair<request_id, uint32_t>> choice_of(sequence_id id) const;

  /// sequence_batch::plan
  const llm_step& plan(const step_context& context = {}) { return sequences_.plan(context); }
  std::span<const token_sampling> samplings() const { return sequences_.samplings(); }
  /// The first step under way is done: `chosen` by entry of `sampled`. Valid until the next call.
  std::span<const choice_token> done(std::span<const chosen_token> chosen);
  /// All steps under way are lost. Returns the requests that were in the first one: they have failed, and are
  /// to be cancelled. The others wait again.
  std::vector<request_id> fail_steps();

  /// Requests that cannot have their first token in time, as of the last `plan`. They wait on, and are to be
  /// cancelled.
  std::vector<request_id> late() const;
  /// Requests whose only open choice was preempted since the last call. A request with several is left out:
  /// not all of them wait.
  std::vector<request_id> take_preempted();

  const in_flight* find(request_id id) const;
  size_t size() const { return requests_.size(); }
  // ids, ascending
  std::vector<request_id> all() const;
  std::vector<request_id> of_gateway(node_id node, incarnation_id incarnation) const;
  std::vector<request_id> with_adapter(adapter_id adapter) const;
  /// Adds the nodes of their gateways, each once.
  void add_gateways(std::vector<node_id>& out) const;

  const step_scheduler& scheduler() const { return sequences_.scheduler(); }
  step_scheduler& scheduler() { return sequences_.scheduler(); }

 private:
  struct place {
    request_id request;
    uint32_t choice = 0;
  };
  using table = std::unordered_map<request_id, in_flight>;

  template <class If>
  std::vector<request_id> ids_where(If&& wanted) const;
  void cancel_sequences(const in_flight& f);
  bool can_take(const in_flight& f) const;
  adapter_id forget(table::iterator r);

  sequence_batch sequences_;
  table requests_;
  std::unordered_map<sequence_id, place> places_;
  std::vector<choice_token> results_;
};

}  // namespace troupe::llm
