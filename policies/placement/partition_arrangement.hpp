// An assignment of models to sub-clusters under local search. The score after a move or swap costs O(1); the
// move or swap itself costs O(models of the two parts + parts).
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "policies/placement/partition.hpp"

namespace troupe {

/// Score of an assignment, smaller is better: the excess first, then the value.
struct partition_score {
  double excess = 0;
  double value = 0;      ///< objective plus mean square of the deviations; it has fewer plateaus
  double objective = 0;  ///< without the mean square
  /// Differences within rounding do not count.
  bool better_than(const partition_score& other) const {
    const auto less = [](double a, double b) { return a < b - 1e-9 * std::abs(b); };
    if (less(excess, other.excess)) return true;
    return !less(other.excess, excess) && less(value, other.value);
  }
  bool ends_better_than(const partition_score& other) const {
    return partition_score{excess, objective, 0}.better_than({other.excess, other.objective, 0});
  }
};

class partition_arrangement {
 public:
  /// Starts without placed models. `p` must outlive the arrangement and its copies.
  explicit partition_arrangement(const partition_problem& p);

  const std::vector<uint32_t>& assignment() const { return part_of_; }
  uint32_t part_of(uint32_t model) const { return part_of_[model]; }
  const std::vector<uint32_t>& members(uint32_t j) const { return parts_[j].members; }
  partition_score now() const { return score_of(no_part, {}, no_part, {}); }
  /// The parts that an improvement must change: the one with the largest excess, and those with the largest
  /// deviations of rate and of memory; `no_part` if there is none or it is listed already.
  std::array<uint32_t, 3> hot() const;

  /// Whether the cost after the change is within C_max. Precondition of this and the following functions: the
  /// models are placed.
  bool may_move(uint32_t model, uint32_t to) const { return may_cost(cost_of(model, to)); }
  bool may_swap(uint32_t a, uint32_t b) const {
    return may_cost(cost_of(a, part_of_[b]) + cost_of(b, part_of_[a]));
  }
  partition_score after_move(uint32_t model, uint32_t to) const;
  void move(uint32_t model, uint32_t to);
  /// Precondition: the models are in different parts.
  partition_score after_swap(uint32_t a, uint32_t b) const;
  void swap(uint32_t a, uint32_t b);

  /// Increase of the part's excess and of its squared load, for a model that is not placed yet.
  partition_score after_insert(uint32_t model, uint32_t to) const;
  void insert(uint32_t model, uint32_t to);

 private:
  /// Sums over the models of a part; of dynamic memory, the maximum.
  struct load {
    double rate = 0, bytes = 0, dynamic = 0;
  };
  /// Contribution of a part to the score.
  struct terms {
    double rate = 0, bytes = 0;  ///< deviations
    double excess = 0;
    double squares(double weight) const { return rate * rate + weight * bytes * bytes; }
  };
  struct part {
    std::vector<uint32_t> members;
    load sum;
    double second_dynamic = 0;
    uint32_t top = no_part;  ///< the member with the largest dynamic memory
    terms share;
  };

  load with(const load& l, uint32_t model) const;
  load without(uint32_t from, uint32_t model) const;
  terms terms_of(uint32_t j, const load& l) const;
  partition_score score_of(uint32_t a, const terms& ta, uint32_t b, const terms& tb) const;
  double cost_of(uint32_t model, uint32_t to) const {
    return p_->cost_of_change(model, to) - p_->cost_of_change(model, part_of_[model]);
  }
  bool may_cost(double more) const { return more <= 0 || cost_ + more <= p_->max_cost * (1 + 1e-12); }
  void join(uint32_t model, uint32_t to);
  void leave(uint32_t model);
  void refresh(uint32_t j);
  void rank();

  const partition_problem* p_;
  fair_shares fair_;
  std::vector<uint32_t> part_of_;
  std::vector<uint32_t> place_;  ///< index of a model among the members of its part
  std::vector<part> parts_;
  double cost_ = 0, excess_ = 0, squares_ = 0;
  std::array<uint32_t, 3> by_rate_{}, by_bytes_{};  ///< largest deviations; a swap changes two
};

}  // namespace troupe
