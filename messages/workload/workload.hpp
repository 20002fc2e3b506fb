// Workload of a cluster, with its faults and operator actions, for `troupe simulate`.
// config/workload_file.hpp makes it from a file and a cluster, with every default filled in.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "messages/deployment/model_spec.hpp"
#include "messages/tensor/latency.hpp"
#include "messages/workload/llm_trace.hpp"

namespace troupe {

enum class arrival_kind : uint16_t {
  poisson,   ///< exponential gaps
  constant,  ///< equal gaps, the first one cut at random
  gamma      ///< gamma-distributed gaps of the given coefficient of variation
};

/// The requests of one model.
struct model_load {
  model_id model;
  double rate_rps = 0;  ///< requests a second before any segment; 0: none
  arrival_kind arrivals = arrival_kind::poisson;
  double gamma_cv = 1;    ///< gamma: standard deviation of the gaps over their mean
  uint32_t rows = 1;      ///< per request
  duration from{};        ///< of the run: no requests before
  duration slo{};         ///< as in the cluster file unless the workload says otherwise
  latency_model latency;  ///< for simulation: from the workload, else from the cluster file; zero: in neither
  uint32_t shapes = 1;    ///< of a model of any shape: each request draws one of so many
};

/// Generation requests of one language model. Lengths are drawn uniformly between `min_` and `max_`.
struct llm_load {
  llm_id model;
  double rate_rps = 0;
  arrival_kind arrivals = arrival_kind::poisson;
  double gamma_cv = 1;
  uint32_t min_prompt = 1, max_prompt = 1;  ///< tokens
  uint32_t min_tokens = 1, max_tokens = 1;  ///< to generate
  uint32_t adapters = 0;                    ///< three of four requests name one of the first `adapters`
  double alike = 0;  ///< share of requests whose prompts begin as one of three others, with two cache scopes
  double several_choices = 0;  ///< share of requests with two or three choices
  double hang_up = 0;          ///< share of clients that disconnect within a second
  double content = 0;          ///< share of requests that the client ends early, as by a stop string
  duration ttft{};             ///< target for the first token; zero: none
  duration tpot{};             ///< target for the further ones; zero: none
  uint32_t max_priority = 0;   ///< priorities are drawn from 0 to this
};

/// From `at` until the next segment, every rate is `scale` times its initial one.
struct rate_segment {
  duration at{};
  double scale = 1;
};

enum class fault_kind : uint16_t {
  delay,          ///< messages between two nodes take `extra` longer
  stall,          ///< nothing passes between two nodes, then all of it at once
  cut,            ///< messages between two nodes are lost, though their senders saw them as sent
  crash,          ///< a node dies and stays dead
  freeze,         ///< a node is suspended and then continues, unaware of it
  restart,        ///< a node dies and comes back, `length` later, with a new incarnation
  slow_link,      ///< two nodes share only `gbit_per_s`
  reorder,        ///< the two lanes between two nodes overtake each other by up to `extra`
  clock_drift,    ///< a node's clock runs `drift_ppm` faster
  poison,         ///< the next request that a node's clients send kills every worker that runs it
  ssd_slow,       ///< a node's disk is a hundred times slower
  chunk_corrupt,  ///< long pulls of a node arrive with a wrong byte
  deaf            ///< nothing arrives at a node over the data lane until it begins a new incarnation
};
inline constexpr size_t fault_kind_count = 13;
inline constexpr std::array<std::string_view, fault_kind_count> fault_kind_names{
    "delay",   "stall",       "cut",    "crash",    "freeze",        "restart", "slow_link",
    "reorder", "clock_drift", "poison", "ssd_slow", "chunk_corrupt", "deaf"};
constexpr std::string_view to_string(fault_kind k) { return fault_kind_names[static_cast<size_t>(k)]; }

/// If `a` and `b` are equal, the fault concerns one node; a fault between nodes then concerns it and all
/// others.
struct fault_spec {
  fault_kind kind = fault_kind::delay;
  duration at{};
  duration length{};  ///< zero for a crash
  node_id a;
  node_id b;
  duration extra{};       ///< delay, reorder
  double gbit_per_s = 0;  ///< slow_link
  double drift_ppm = 0;   ///< clock_drift
};

/// Faults drawn from the seed, in addition to the listed ones.
struct random_fault_spec {
  uint32_t count = 0;     ///< in the whole run
  double per_minute = 0;  ///< instead of a count
  std::vector<fault_kind> kinds;
};

/// Bounds of the simulated clocks' initial offsets and drifts; the seed draws each.
struct clock_spec {
  duration max_offset{};
  double max_drift_ppm = 0;
};

/// An action of an operator. It is repeated until the cluster accepts it, and starts only after the previous
/// one.
struct change_event {
  enum class kind : uint16_t { deploy, redeploy, undeploy, drain, move };
  kind what = kind::deploy;
  duration at{};
  model_spec model;       ///< of a deploy; for other kinds only its name counts
  node_id node;           ///< drain
  duration back_after{};  ///< drain: time from the end of its process to its restart; zero: never
  std::string domain{};   ///< move: the target
};

/// An operator gives a language model this many instances.
struct scale_event {
  duration at{};
  llm_id model;
  uint32_t instances = 0;
};

struct workload_spec {
  uint64_t seed = 1;
  duration length{};               ///< of the whole run, warm-up included
  duration warmup{};               ///< its requests are not in the statistics
  std::vector<model_load> models;  ///< one per model of the cluster, in its order, then one per deploy
  std::vector<llm_load> llms;
  std::vector<traced_generation> llm_trace;  ///< in addition: generation requests of the first language model
  std::vector<scale_event> scales;           ///< by time
  double llm_changes_per_s = 0;              ///< operator actions: migrations, engine drains, adapter changes
  std::vector<double> tenants;               ///< share of requests of each tenant; empty: no tenants
  std::vector<rate_segment> segments;        ///< ascending
  std::vector<fault_spec> faults;            ///< by time
  std::vector<change_event> changes;         ///< by time
  random_fault_spec random_faults;
  clock_spec clocks;
};

}  // namespace troupe
