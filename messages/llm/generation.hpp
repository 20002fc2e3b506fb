// Generation requests from a gateway to an engine of the language model, and their tokens on the way back.
// Also the status of engines and the management of adapters.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "messages/llm/handover.hpp"
#include "messages/llm/instance_phase.hpp"
#include "messages/llm/instance_stage.hpp"
#include "messages/llm/sampling.hpp"
#include "messages/llm/token.hpp"

namespace troupe {

/// Tokens of a choice that another engine has generated so far.
struct sequence_progress {
  uint32_t choice = 0;
  std::vector<llm::token> tokens;
  TROUPE_MESSAGE(sequence_progress, choice, tokens)
  bool operator==(const sequence_progress&) const = default;
};

/// A generation request, as an engine gets it. The gateway has checked it against the engine's status: all
/// tokens are of the vocabulary, and prompt and answer fit.
struct generation {
  request_id id;
  uint32_t attempt = 1;  ///< an engine's answers carry it; those of earlier attempts are ignored
  llm_id model;
  uint32_t tenant = 0;  ///< as `request::tenant`
  /// Requests share cached KV blocks only with those of the same scope: the tenant's name and the client's
  /// `cache_salt`.
  std::string cache_scope;
  address gateway;  ///< it assigns the outcome
  time_point arrival = never;
  time_point deadline = never;
  std::string adapter;             ///< its name; empty: the base model
  std::vector<llm::token> prompt;  ///< at least one
  uint32_t max_tokens = 0;         ///< to generate for each choice, at least one
  uint32_t choices = 1;            ///< sequences; choice i draws with seed + i
  llm::sampling_params sampling;
  std::vector<llm::token> stop;  ///< each ends its sequence, and is its last token
  bool logprobs = false;         ///< wanted, of the chosen tokens
  uint32_t top_logprobs = 0;     ///< number of most likely tokens to return with each
  int32_t priority = 0;          ///< lower ones first
  time_point due = never;        ///< when its first token is due (TTFT target)
  duration tpot{};               ///< target for the mean time of the further ones (TPOT); zero: none
  std::vector<sequence_progress> progress;  ///< unfinished choices of a migrated request; empty: all
  kv_offer kv;                              ///< of its former engine
  bool prefill_only = false;  ///< stop after the next token of each choice, as if `hand_over` had come then
  TROUPE_MESSAGE(generation, id, attempt, model, tenant, cache_scope, gateway, arrival, deadline, adapter,
                 prompt, max_tokens, choices, sampling, stop, logprobs, top_logprobs, priority, due, tpot,
                 progress, kv, prefill_only)
  bool operator==(const generation&) const = default;
};

/// gateway → llm_engine: requests to generate. `cancel` gives one up.
struct generate {
  std::vector<generation> requests;
  TROUPE_MESSAGE(generate, requests)
  bool operator==(const generate&) const = default;
};

/// gateway → llm_engine: end this choice (a stop string was found); the others continue.
struct end_choice {
  request_id id;
  uint32_t choice = 0;
  TROUPE_MESSAGE(end_choice, id, choice)
  bool operator==(const end_choice&) const = default;
};

/// Why a sequence ended.
enum class finish_reason : uint16_t {
  none,   ///< not ended
  stop,   ///< a stop token, or a stop string
  length  ///< `max_tokens`
};
inline constexpr size_t finish_reason_count = 3;
std::string_view to_string(finish_reason r);

struct token_chance {
  llm::token which = 0;
  float logprob = 0;  ///< natural logarithm, before biases, penalties and temperature
  TROUPE_MESSAGE(token_chance, which, logprob)
  bool operator==(const token_chance&) const = default;
};

struct generated_token {
  request_id id;
  uint32_t attempt = 1;
  uint32_t choice = 0;
  llm::token which = 0;
  float logprob = 0;
  std::vector<token_chance> top;  ///< descending, if asked for
  finish_reason finish = finish_reason::none;
  uint32_t cached = 0;  ///< with the first token of a choice: tokens of the prompt that the prefix cache had
  TROUPE_MESSAGE(generated_token, id, attempt, choice, which, logprob, top, finish, cached)
  bool operator==(const generated_token&) const = default;
};

/// llm_engine → gateway: the tokens that a step generated. A sequence that ends without a last token ends by
/// `drops` (given up) or `completion` (failed).
struct generated {
  std::vector<generated_token> tokens;
  TROUPE_MESSAGE(generated, tokens)
  bool operator==(const generated&) const = default;
};

/// Cost model of an engine's steps, fitted to those that it ran; zero: it has run none. A step takes `fixed`
/// + `decode` × decodes + `prefill` × tokens of prompts.
struct step_forecast {
  duration fixed{};    ///< per step
  duration decode{};   ///< per sequence that decodes
  duration prefill{};  ///< per token of prompts
  TROUPE_MESSAGE(step_forecast, fixed, decode, prefill)
  bool operator==(const step_forecast&) const = default;
};

/// The adapters on an engine's device, and the loads that brought them and others there.
struct device_adapters {
  std::vector<std::string> names;  ///< sorted
  std::vector<uint64_t> loads;     ///< by time, in the buckets of `histogram::seconds`
  double load_seconds = 0;         ///< of all loads
  TROUPE_MESSAGE(device_adapters, names, loads, load_seconds)
  bool operator==(const device_adapters&) const = default;
};

/// llm_engine → gateways and routers: its status. Sent when a node comes up and after changes, at most every
/// 100 ms.
struct engine_status {
  llm_id model;
  engine_id engine;
  instance_stage stage = instance_stage::idle;
  instance_phase phase = instance_phase::both;
  bool ready = false;   ///< takes requests
  std::string problem;  ///< set if it will never be ready: why the model cannot be loaded
  uint32_t vocabulary = 0;
  uint32_t max_positions = 0;  ///< of a sequence, by the model
  uint32_t kv_tokens = 0;      ///< capacity of the KV cache
  uint32_t block_tokens = 1;   ///< positions of a KV block
  uint32_t max_sequences = 0;  ///< sequences that run at once
  uint32_t running = 0;        ///< sequences
  uint32_t waiting = 0;
  float kv_used = 0;               ///< share of the KV cache that sequences hold
  bool prefix_cache = false;       ///< sequences that begin alike share KV blocks
  uint64_t uncomputed_tokens = 0;  ///< tokens to prefill before those of a new sequence
  step_forecast steps;
  uint32_t adapter_slots = 0;
  std::vector<std::string> running_adapters;  ///< of running sequences
  std::vector<std::string> waiting_adapters;  ///< of waiting sequences
  device_adapters on_device;
  TROUPE_MESSAGE(engine_status, model, engine, stage, phase, ready, problem, vocabulary, max_positions,
                 kv_tokens, block_tokens, max_sequences, running, waiting, kv_used, prefix_cache,
                 uncomputed_tokens, steps, adapter_slots, running_adapters, waiting_adapters, on_device)
  /// Maximum tokens of a sequence, prompt and answer together: by the model, and by the KV cache.
  uint32_t max_model_len() const { return std::min(max_positions, kv_tokens); }
  bool operator==(const engine_status&) const = default;
};

/// An adapter that requests may name.
struct adapter_entry {
  std::string name;
  std::string path;  ///< its folder, on the engine's node
  TROUPE_MESSAGE(adapter_entry, name, path)
  bool operator==(const adapter_entry&) const = default;
};

/// llm_engine → gateways and routers: the adapters registered at the engine.
struct adapters_known {
  llm_id model;
  engine_id engine;
  bool all = false;  ///< replaces all known ones; else `present` were added and `gone` removed
  std::vector<adapter_entry> present;
  std::vector<std::string> gone;
  TROUPE_MESSAGE(adapters_known, model, engine, all, present, gone)
  bool operator==(const adapters_known&) const = default;
};

/// gateway → llm_engine: register or unregister this adapter.
struct change_adapter {
  uint64_t token = 0;  ///< given back in the answer
  llm_id model;
  bool load = false;
  adapter_entry adapter;  ///< to unload: its name only
  TROUPE_MESSAGE(change_adapter, token, model, load, adapter)
  bool operator==(const change_adapter&) const = default;
};

enum class adapter_answer : uint16_t {
  done,
  exists,   ///< the name is taken
  unknown,  ///< there is none of this name
  refused   ///< the files are unusable
};
inline constexpr size_t adapter_answer_count = 4;
std::string_view to_string(adapter_answer a);

/// llm_engine → gateway: answers `change_adapter`; for an unload, once the last request with the adapter has
/// ended.
struct adapter_changed {
  uint64_t token = 0;
  adapter_answer answer = adapter_answer::done;
  std::string message;  ///< of a refusal
  TROUPE_MESSAGE(adapter_changed, token, answer, message)
  bool operator==(const adapter_changed&) const = default;
};

}  // namespace troupe
