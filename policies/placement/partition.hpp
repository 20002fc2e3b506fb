// Which models each sub-cluster serves: the problem of Symphony's §4.4 and Appendix A.1, and the quality of
// an answer to it. policies/placement/partition_search.hpp finds answers.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace troupe {

struct partition_model {
  std::string name;          ///< for messages
  double rate = 0;           ///< requests a second: rᵢ
  double static_bytes = 0;   ///< parameters, on every device of its sub-cluster: sᵢ
  double dynamic_bytes = 0;  ///< while a batch of it runs: dᵢ
};

/// A sub-cluster.
struct partition_part {
  std::string name;  ///< for messages
  double size = 1;   ///< devices, say: its fair share of the rates is in proportion
  double max_rate = std::numeric_limits<double>::infinity();   ///< that its dispatcher can take: R_max
  double max_bytes = std::numeric_limits<double>::infinity();  ///< of each of its devices: S_max
};

/// A model's part while it has none.
inline constexpr uint32_t no_part = ~uint32_t{0};

/// Every model gets one part, such that for each part j
///   Σ rᵢ ≤ R_max   and   Σ sᵢ + max dᵢ ≤ S_max   (sums and maximum over its models; both to within 1e-9)
/// and what changes costs at most C_max: a model that leaves part a for part b costs c_ia + c_ib. A model
/// that had no part is loaded in any case; that is free.
struct partition_problem {
  std::vector<partition_model> models;
  std::vector<partition_part> parts;
  double memory_weight = 1;        ///< w
  std::vector<uint32_t> current;   ///< part of each model, or `no_part`; empty: no model has one
  std::vector<double> move_costs;  ///< cᵢⱼ, a row of parts for each model; empty: all 1
  double max_cost = std::numeric_limits<double>::infinity();  ///< C_max

  double cost(size_t model, uint32_t part) const {
    return move_costs.empty() ? 1 : move_costs[model * parts.size() + part];
  }
  /// What it costs that `model` is in `part` now.
  double cost_of_change(size_t model, uint32_t part) const {
    const auto was = current.empty() ? no_part : current[model];
    return was == no_part || was == part ? 0 : cost(model, was) + cost(model, part);
  }
};

/// Fair shares: R̄ⱼ of the rates in proportion to the size of the part, S̄ of static memory the same for all.
/// Deviations and imbalances are fractions of these, so that both count alike whatever their units: with
/// parts of one size ΔR = maxⱼ |Rⱼ - R̄| / R̄, and the imbalance is the paper's, (max - min) / average. A sum
/// of zero has neither.
struct partition_quality {
  double rate_deviation = 0;    ///< ΔR
  double memory_deviation = 0;  ///< ΔS
  double objective = 0;         ///< ΔR + w ΔS
  double rate_imbalance = 0;
  double memory_imbalance = 0;
  double cost = 0;
  double excess = 0;   ///< by which limits are broken, each a fraction of its limit, summed
  std::string broken;  ///< the first of these limits, in one sentence
  bool feasible() const { return broken.empty(); }
};

struct partition_result {
  std::vector<uint32_t> assignment;  ///< part of each model; empty: none was found
  partition_quality quality;         ///< of the assignment
  std::string problem;               ///< not empty: nothing feasible was found; one sentence on why
  uint64_t steps = 0;                ///< done
};

/// `assignment` has a part for each model.
partition_quality judge(const partition_problem& p, const std::vector<uint32_t>& assignment);

/// Why no assignment can be feasible, as far as a glance tells; empty: perhaps one is. Throws
/// std::invalid_argument for what is no problem at all: no parts, vectors of unlike sizes, numbers below 0.
std::string impossible(const partition_problem& p);

/// What shares are of: R̄ⱼ and S̄.
struct fair_shares {
  explicit fair_shares(const partition_problem& p);
  std::vector<double> rates;  ///< by part
  double bytes = 0;
};

/// By which fraction of the limit `value` is beyond it.
inline double excess_of(double value, double max) {
  return value <= max * (1 + 1e-9) ? 0 : max > 0 ? value / max - 1 : value;
}

}  // namespace troupe
