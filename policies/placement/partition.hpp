// The partition problem: which models each sub-cluster serves (Symphony §4.4 and Appendix A.1), and the
// quality of a solution. policies/placement/partition_search.hpp finds solutions.
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
  double dynamic_bytes = 0;  ///< while one of its batches runs: dᵢ
};

/// A sub-cluster.
struct partition_part {
  std::string name;  ///< for messages
  double size = 1;   ///< in any unit, such as devices; the fair share of the rates is proportional
  double max_rate = std::numeric_limits<double>::infinity();   ///< of its dispatcher: R_max
  double max_bytes = std::numeric_limits<double>::infinity();  ///< of each of its devices: S_max
};

/// The part of a model that is not placed.
inline constexpr uint32_t no_part = ~uint32_t{0};

/// Every model gets one part, such that for each part j
///   Σ rᵢ ≤ R_max   and   Σ sᵢ + max dᵢ ≤ S_max   (sums and maximum over its models; both to within 1e-9)
/// and the changes cost at most C_max in total: moving a model from part a to part b costs c_ia + c_ib, and
/// placing a new model is free.
struct partition_problem {
  std::vector<partition_model> models;
  std::vector<partition_part> parts;
  double memory_weight = 1;        ///< w
  std::vector<uint32_t> current;   ///< part of each model, or `no_part`; empty: none is placed
  std::vector<double> move_costs;  ///< cᵢⱼ, a row of parts for each model; empty: all 1
  double max_cost = std::numeric_limits<double>::infinity();  ///< C_max

  double cost(size_t model, uint32_t part) const {
    return move_costs.empty() ? 1 : move_costs[model * parts.size() + part];
  }
  /// Cost of moving `model` from its current part to `part`.
  double cost_of_change(size_t model, uint32_t part) const {
    const auto was = current.empty() ? no_part : current[model];
    return was == no_part || was == part ? 0 : cost(model, was) + cost(model, part);
  }
};

/// Deviations and imbalances are relative to the fair shares: R̄ⱼ, the rates in proportion to the size of the
/// part, and S̄, the same static memory for each part. With parts of equal size, ΔR = maxⱼ |Rⱼ - R̄| / R̄, and
/// the imbalance is the paper's, (max - min) / average. Both are 0 if the sum is 0.
struct partition_quality {
  double rate_deviation = 0;    ///< ΔR
  double memory_deviation = 0;  ///< ΔS
  double objective = 0;         ///< ΔR + w ΔS
  double rate_imbalance = 0;
  double memory_imbalance = 0;
  double cost = 0;
  double excess = 0;   ///< sum over violated limits of the excess as a fraction of the limit
  std::string broken;  ///< the first violated limit, as a sentence
  bool feasible() const { return broken.empty(); }
};

struct partition_result {
  std::vector<uint32_t> assignment;  ///< part of each model; empty: none
  partition_quality quality;         ///< of the assignment
  std::string problem;  ///< not empty: the reason why no feasible assignment was found, as a sentence
  uint64_t steps = 0;   ///< used from the budget
};

/// Quality of an assignment, which must have a part for each model; else throws std::invalid_argument.
partition_quality judge(const partition_problem& p, const std::vector<uint32_t>& assignment);

/// Reason why no assignment can be feasible, by checks in O(models + parts); empty: there may be one. Throws
/// std::invalid_argument if the problem is malformed: no parts, vectors of unequal sizes, negative numbers.
std::string impossible(const partition_problem& p);

/// The fair shares R̄ⱼ and S̄.
struct fair_shares {
  explicit fair_shares(const partition_problem& p);
  std::vector<double> rates;  ///< by part
  double bytes = 0;
};

/// Excess of `value` over `max`, as a fraction of `max`; absolute if `max` is 0.
inline double excess_of(double value, double max) {
  return value <= max * (1 + 1e-9) ? 0 : max > 0 ? value / max - 1 : value;
}

}  // namespace troupe
