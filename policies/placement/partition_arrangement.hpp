// An assignment of models to sub-clusters while it is being improved: what a move or a swap would come to is
// known in O(1), doing one is O(models of the two parts + parts).
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "policies/placement/partition.hpp"

namespace troupe {

/// Of an assignment; less is better: first what breaks limits, then the objective.
struct partition_score {
  double excess = 0;
  double value = 0;  ///< the objective plus the mean square of the deviations: so there is always a way down
  double objective = 0;  ///< without it: what counts in the end
  /// Not by rounding alone.
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
  /// No model has a part yet. `p` outlives it and its copies.
  explicit partition_arrangement(const partition_problem& p);

  const std::vector<uint32_t>& assignment() const { return part_of_; }
  uint32_t part_of(uint32_t model) const { return part_of_[model]; }
  const std::vector<uint32_t>& members(uint32_t j) const { return parts_[j].members; }
  partition_score now() const { return score_of(no_part, {}, no_part, {}); }
  /// The parts from which improvement must come: the one that breaks limits most, and those that deviate
  /// most; `no_part` where there is none.
  std::array<uint32_t, 3> hot() const;

  /// Whether the change keeps to C_max. Requires, as everything below: these models have parts.
  bool may_move(uint32_t model, uint32_t to) const { return may_cost(cost_of(model, to)); }
  bool may_swap(uint32_t a, uint32_t b) const {
    return may_cost(cost_of(a, part_of_[b]) + cost_of(b, part_of_[a]));
  }
  partition_score after_move(uint32_t model, uint32_t to) const;
  void move(uint32_t model, uint32_t to);
  /// Of models of different parts.
  partition_score after_swap(uint32_t a, uint32_t b) const;
  void swap(uint32_t a, uint32_t b);

  /// Of a model that has no part yet: by how much the part breaks its limits more, and grows.
  partition_score after_insert(uint32_t model, uint32_t to) const;
  void insert(uint32_t model, uint32_t to);

 private:
  /// What a part's models add up to.
  struct load {
    double rate = 0, bytes = 0, dynamic = 0;
  };
  /// What a part adds to the score.
  struct terms {
    double rate = 0, bytes = 0;  ///< deviations
    double excess = 0;
    double squares(double weight) const { return rate * rate + weight * bytes * bytes; }
  };
  struct part {
    std::vector<uint32_t> members;
    load sum;
    double second_dynamic = 0;
    uint32_t top = no_part;  ///< whose dynamic memory is the largest
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
  std::vector<uint32_t> place_;  ///< of a model among the members of its part
  std::vector<part> parts_;
  double cost_ = 0, excess_ = 0, squares_ = 0;
  std::array<uint32_t, 3> by_rate_{}, by_bytes_{};  ///< deviate most: of three, two may be about to change
};

}  // namespace troupe
