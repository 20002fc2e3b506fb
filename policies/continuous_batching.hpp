// What an engine runs next: continuous batching of one language model with many adapters (Punica §5, with the
// prefill in chunks). A step mixes at most one prefill, or a chunk of it, with one token of every text that
// is being generated.
//
// Texts are served first come, first served. When KV blocks run out, the newest text that runs gives up its
// own and waits again, before all that came after it; later its prompt and what it has generated are
// prefilled anew. A text whose adapter is not loaded is passed by, but has its place among `max_waiting`: who
// cannot load an adapter cancels its texts.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "messages/llm_step.hpp"
#include "policies/kv_blocks.hpp"

namespace troupe::llm {

struct batching_limits {
  uint32_t max_sequences = 32;   ///< that run at once
  uint32_t prefill_chunk = 512;  ///< tokens of a prefill in one step
  bool mix_adapters = true;      ///< false: texts of one adapter at a time, as engines without SGMV do
  uint32_t blocks = 0;           ///< of the device's KV cache
  uint32_t block_tokens = 16;    ///< positions of a block
  uint32_t max_waiting = 4096;
};

struct new_sequence {
  sequence_id id;
  std::vector<token> prompt;
  uint32_t max_tokens = 0;  ///< generated ones at most, 1 or more
  adapter_id adapter = base_model;
};

/// What the device chose after a row of the last step.
struct sampled_token {
  sequence_id sequence;
  token chosen = 0;
  bool last = false;  ///< the text ends with it
};

class continuous_batching {
 public:
  enum class refusal : uint8_t {
    none,
    empty,       ///< no prompt, or nothing to generate
    too_long,    ///< more KV blocks than there are
    queue_full,  ///< `max_waiting` wait already
  };

  explicit continuous_batching(batching_limits limits);
  ~continuous_batching();

  /// A text at the end of the queue. Requires: its id is new.
  refusal add(new_sequence s);
  /// Forgets a text, if it is known, wherever it is; what the step under way computes for it is thrown away.
  void cancel(sequence_id id);

  /// The device has loaded the adapter; or it is to be unloaded, and no text begins with it any more. The
  /// base model is always there.
  void adapter_loaded(adapter_id a) { loaded_.insert(a); }
  void adapter_unloaded(adapter_id a) { loaded_.erase(a); }
  /// Those that texts wait for, in the order in which they will be needed, each once, without the base model:
  /// `limit` that are not there at most, and those that are there and needed before the last of them.
  std::vector<adapter_id> wanted_adapters(size_t limit) const;
  /// Texts that run with the adapter: as long as there are some it must stay on the device.
  uint32_t users(adapter_id a) const;

  /// Of texts that run, and of those that wait; each once, without the base model.
  std::vector<adapter_id> running_adapters() const;
  std::vector<adapter_id> waiting_adapters() const;

  /// The next step, valid until the next call; without rows if there is nothing to do. Requires: no step is
  /// under way.
  const llm_step& plan();
  /// The step is done: for every row of `llm_step::sampled` whose text was not cancelled meanwhile, in any
  /// order, what was chosen. Texts also end with `max_tokens`; one that was sampled and has no entry ends,
  /// too.
  void done(std::span<const sampled_token> chosen);

  /// The one that `plan` made last.
  const llm_step& step() const { return step_; }

  /// The step is lost, and with it all keys and values: what runs gives its blocks back and waits again.
  void fail();

  uint32_t running() const { return static_cast<uint32_t>(running_.size()); }
  uint32_t waiting() const { return static_cast<uint32_t>(waiting_.size()); }
  uint64_t evictions() const { return evictions_; }
  /// Texts that gave their blocks up to older ones, since it was asked last: they wait, or have ended since.
  std::vector<sequence_id> take_evicted() { return std::exchange(evicted_, {}); }
  const kv_blocks& blocks() const { return blocks_; }
  bool idle() const { return running_.empty() && waiting_.empty(); }
  /// Null if it is not known (any more). Prompt first, then what was generated.
  const std::vector<token>* text(sequence_id id) const;

 private:
  struct sequence;

  size_t blocks_for(size_t positions) const;
  bool is_loaded(adapter_id a) const { return a == base_model || loaded_.contains(a); }
  void admit();
  bool reserve(sequence& s, size_t positions);
  void evict(sequence& s);
  void release(sequence& s);
  void forget(sequence_id id);
  sequence* prefilling() const;
  void append(sequence& s, uint32_t rows);
  void close_segment(adapter_id a);

  const batching_limits limits_;
  kv_blocks blocks_;
  std::unordered_map<sequence_id, std::unique_ptr<sequence>> known_;
  std::deque<sequence*> waiting_;   // by arrival
  std::vector<sequence*> running_;  // by arrival
  std::vector<sequence*> decodes_;  // of the step that is being made
  std::vector<sequence*> in_step_;  // by entry of its `sequences`
  std::unordered_set<adapter_id> loaded_;
  llm_step step_;
  bool under_way_ = false;
  uint64_t arrivals_ = 0, evictions_ = 0;
  std::vector<sequence_id> evicted_;
};

}  // namespace troupe::llm
