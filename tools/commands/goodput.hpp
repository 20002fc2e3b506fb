// `troupe goodput`: the highest request rate that a scheduler serves in a scenario.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

struct goodput_options {
  std::string file;
  std::string policy = "deferred";
  std::string batching, shedding, matchmaking;  ///< override the policy's; empty: the policy's own
  std::string engine = "direct";
  std::optional<std::string> criterion;  ///< overrides the scenario's, like all fields below
  std::optional<uint32_t> seeds;
  std::optional<uint64_t> first_seed;
  std::optional<double> duration_s, precision, max_bad;
  std::optional<uint64_t> requests;
  std::optional<double> rate;  ///< only this rate, no search
  uint32_t jobs = 0;           ///< 0: all cores
  bool json = false;
};

/// Prints a table or one JSON document {scenario, policy, batching, shedding, matchmaking, engine, criterion,
/// goodput_rps, ci95, bad_rate, mean_batch, gpu_busy, seeds, first_seed, per_seed: [{seed, goodput_rps,
/// bad_rate, mean_batch, gpu_busy}], offered_rps?}. `ci95` is null with one seed. Returns 0, 1 if no rate is
/// served well, 2 if the file or an option has problems.
int goodput(const goodput_options& options);

}  // namespace troupe
