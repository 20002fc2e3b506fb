// The measure `chain` of experiments: weights travel over one multicast chain, by the actors of a real
// cluster in virtual time (BlitzScale §5.1, Figure 10).
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/reader.hpp"

namespace troupe::lab {

struct scenario;
struct sample;

struct chain_setup {
  double model_gb = 14;
  uint32_t chunks = 1024;  ///< equal parts in which the weights travel
  uint32_t window = 4;     ///< chunks that a node pulls at a time
  double source_gbit_per_s = 100;
  std::vector<double> target_gbit_per_s{100};  ///< rates of the targets' interfaces
};

/// Orders of the targets in the chain: as in the file, the reverse, or as the leader plans them.
inline constexpr std::string_view chain_policies[]{"listed", "reversed", "planned"};

/// Reads `[chain]` of `root`. Absent keys keep the values in `out`, or the defaults. Without the table
/// nothing changes.
void read_chain(section& root, std::optional<chain_setup>& out);

/// Seconds until each target of a chain has all weights, with a hop from each rate to the next (Gbit/s):
/// Σ_{i≤h} cᵢ + (K − 1) · max_{i≤h} cᵢ with the time cᵢ of a chunk on hop i and K chunks. A hop has the rate
/// of its slower interface.
std::vector<double> chain_formula(double bytes, uint32_t chunks, const std::vector<double>& gbit_per_s);

/// Metrics: `first_s` and `last_s` after the order, the first and the last target have all weights;
/// `formula_first_s` and `formula_last_s`; `off`, the largest deviation of a hop from the formula, as a
/// fraction. Table: hop by hop. Throws std::runtime_error if a target does not get all weights, or if the run
/// violates an invariant.
sample measure_chain(const scenario& s, std::string_view policy, uint64_t seed);

}  // namespace troupe::lab
