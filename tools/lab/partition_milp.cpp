#include "tools/lab/partition_milp.hpp"

#include <coin/CbcModel.hpp>
#include <coin/CglGomory.hpp>
#include <coin/CglKnapsackCover.hpp>
#include <coin/CglMixedIntegerRounding2.hpp>
#include <coin/CglProbing.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/CoinPackedVector.hpp>
#include <coin/OsiClpSolverInterface.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace troupe {
namespace {

/// Columns: x_ij, then ΔR, ΔS, then for each part the largest dynamic memory of its models. Everything is in
/// fractions of the fair shares, memory limits included, so that the numbers are of one size.
class milp_model {
 public:
  explicit milp_model(const partition_problem& p)
      : p_(p),
        fair_(p),
        models_(static_cast<int>(p.models.size())),
        parts_(static_cast<int>(p.parts.size())),
        unit_(fair_.bytes > 0 ? fair_.bytes : 1),
        matrix_(false, 0, 0) {
    const auto unlimited = solver_.getInfinity();
    add_columns(unlimited);
    matrix_.setDimensions(0, static_cast<int>(lower_.size()));
    for (int i = 0; i < models_; ++i) {
      CoinPackedVector one_part;
      for (int j = 0; j < parts_; ++j) one_part.insert(x(i, j), 1);
      add_row(one_part, 1, 1);
    }
    for (int j = 0; j < parts_; ++j) {
      add_balance(j, fair_.rates[static_cast<size_t>(j)], &partition_model::rate, rate_column(), unlimited);
      add_balance(j, fair_.bytes, &partition_model::static_bytes, rate_column() + 1, unlimited);
      add_limits(j, unlimited);
    }
    add_cost(unlimited);
    solver_.loadProblem(matrix_, lower_.data(), upper_.data(), objective_.data(), row_lower_.data(),
                        row_upper_.data());
    for (int c = 0; c < models_ * parts_; ++c) solver_.setInteger(c);
  }

  OsiClpSolverInterface& solver() { return solver_; }

  /// The values of all columns for an assignment.
  std::vector<double> columns_of(std::vector<uint32_t> assignment, const partition_quality& q) const {
    if (alike()) renumber(assignment);
    std::vector<double> out(lower_.size());
    for (int i = 0; i < models_; ++i) {
      const auto part = static_cast<int>(assignment[static_cast<size_t>(i)]);
      out[static_cast<size_t>(x(i, part))] = 1;
      auto& dynamic = out[static_cast<size_t>(rate_column() + 2 + part)];
      dynamic = std::max(dynamic, p_.models[static_cast<size_t>(i)].dynamic_bytes / unit_);
    }
    out[static_cast<size_t>(rate_column())] = q.rate_deviation;
    out[static_cast<size_t>(rate_column() + 1)] = q.memory_deviation;
    return out;
  }

  std::vector<uint32_t> assignment_of(const double* columns) const {
    std::vector<uint32_t> out;
    for (int i = 0; i < models_; ++i) {
      const auto* row = columns + x(i, 0);
      out.push_back(static_cast<uint32_t>(std::max_element(row, row + parts_) - row));
    }
    return out;
  }

 private:
  int x(int model, int part) const { return model * parts_ + part; }
  int rate_column() const { return models_ * parts_; }

  /// Whether the parts are interchangeable. Then `add_columns` fixes their order, so that CBC does not search
  /// their permutations.
  bool alike() const {
    const auto& first = p_.parts.front();
    return p_.current.empty() && std::all_of(p_.parts.begin(), p_.parts.end(), [&](const auto& part) {
             return part.size == first.size && part.max_rate == first.max_rate &&
                    part.max_bytes == first.max_bytes;
           });
  }
  /// Numbers the parts in the order of their first models.
  static void renumber(std::vector<uint32_t>& assignment) {
    std::vector<uint32_t> order;
    for (auto& part : assignment) {
      auto known = std::find(order.begin(), order.end(), part);
      if (known == order.end()) known = order.insert(known, part);
      part = static_cast<uint32_t>(known - order.begin());
    }
  }

  void add_columns(double unlimited) {
    const auto add = [&](double max, double weight) {
      lower_.push_back(0);
      upper_.push_back(max);
      objective_.push_back(weight);
    };
    for (int i = 0; i < models_; ++i)
      for (int j = 0; j < parts_; ++j) add(alike() && j > i ? 0 : 1, 0);
    add(unlimited, 1);
    add(unlimited, p_.memory_weight);
    for (int j = 0; j < parts_; ++j) add(unlimited, 0);
  }

  void add_row(const CoinPackedVector& row, double min, double max) {
    matrix_.appendRow(row);
    row_lower_.push_back(min);
    row_upper_.push_back(max);
  }

  /// |Σ / fair - 1| ≤ Δ.
  void add_balance(int part, double fair, double partition_model::*of, int deviation, double unlimited) {
    if (fair <= 0) return;
    CoinPackedVector above, below;
    for (int i = 0; i < models_; ++i) {
      const auto share = p_.models[static_cast<size_t>(i)].*of / fair;
      above.insert(x(i, part), share);
      below.insert(x(i, part), share);
    }
    above.insert(deviation, -1);
    below.insert(deviation, 1);
    add_row(above, -unlimited, 1);
    add_row(below, 1, unlimited);
  }

  void add_limits(int j, double unlimited) {
    const auto& part = p_.parts[static_cast<size_t>(j)];
    const int dynamic = rate_column() + 2 + j;
    if (std::isfinite(part.max_rate)) {
      const auto scale = fair_.rates[static_cast<size_t>(j)] > 0 ? fair_.rates[static_cast<size_t>(j)] : 1;
      CoinPackedVector row;
      for (int i = 0; i < models_; ++i) row.insert(x(i, j), p_.models[static_cast<size_t>(i)].rate / scale);
      add_row(row, -unlimited, part.max_rate / scale);
    }
    if (!std::isfinite(part.max_bytes)) return;
    CoinPackedVector row;
    for (int i = 0; i < models_; ++i) {
      const auto& m = p_.models[static_cast<size_t>(i)];
      row.insert(x(i, j), m.static_bytes / unit_);
      if (m.dynamic_bytes <= 0) continue;
      CoinPackedVector largest;
      largest.insert(x(i, j), m.dynamic_bytes / unit_);
      largest.insert(dynamic, -1);
      add_row(largest, -unlimited, 0);
    }
    row.insert(dynamic, 1);
    add_row(row, -unlimited, part.max_bytes / unit_);
  }

  void add_cost(double unlimited) {
    if (p_.current.empty() || !std::isfinite(p_.max_cost)) return;
    CoinPackedVector row;
    for (int i = 0; i < models_; ++i)
      for (int j = 0; j < parts_; ++j)
        row.insert(x(i, j), p_.cost_of_change(static_cast<size_t>(i), static_cast<uint32_t>(j)));
    add_row(row, -unlimited, p_.max_cost);
  }

  const partition_problem& p_;
  const fair_shares fair_;
  const int models_, parts_;
  const double unit_;  ///< of memory
  OsiClpSolverInterface solver_;
  CoinPackedMatrix matrix_;
  std::vector<double> lower_, upper_, objective_, row_lower_, row_upper_;
};

void add_cuts(CbcModel& model) {
  CglProbing probing;
  probing.setMaxPass(1);
  probing.setMaxProbe(10);
  probing.setMaxLook(50);
  probing.setRowCuts(3);
  CglGomory gomory;
  gomory.setLimit(300);
  CglKnapsackCover knapsack;
  CglMixedIntegerRounding2 rounding;
  model.addCutGenerator(&probing, -1, "probing");
  model.addCutGenerator(&gomory, -1, "gomory");
  model.addCutGenerator(&knapsack, -1, "knapsack");
  model.addCutGenerator(&rounding, -1, "rounding");
}

}  // namespace

milp_result solve_partition(const partition_problem& p, const std::vector<uint32_t>& start,
                            const milp_budget& budget) {
  milp_result out;
  out.best.problem = impossible(p);
  if (!out.best.problem.empty()) {
    out.proven = true;
    return out;
  }
  if (p.models.empty()) {
    out.best.quality = judge(p, {});
    out.proven = true;
    return out;
  }
  milp_model lp(p);
  lp.solver().messageHandler()->setLogLevel(0);
  CbcModel model(lp.solver());
  model.setLogLevel(0);
  model.messageHandler()->setLogLevel(0);
  model.solver()->messageHandler()->setLogLevel(0);
  model.setUseElapsedTime(true);
  model.setMaximumSeconds(to_seconds(budget.time));
  model.setMaximumNodes(static_cast<int>(std::min<int64_t>(budget.nodes, INT32_MAX)));
  model.setDblParam(CbcModel::CbcCutoffIncrement, 1e-7);
  add_cuts(model);
  if (!start.empty()) {
    if (const auto q = judge(p, start); q.feasible()) {
      const auto columns = lp.columns_of(start, q);
      model.setBestSolution(columns.data(), static_cast<int>(columns.size()), q.objective, true);
      out.best.assignment = start;
      out.best.quality = q;
    }
  }
  model.branchAndBound();
  out.proven = model.isProvenOptimal() || model.isProvenInfeasible();
  out.best.steps = static_cast<uint64_t>(model.getNodeCount());
  if (const auto* columns = model.bestSolution()) {
    auto found = lp.assignment_of(columns);
    auto q = judge(p, found);
    // CBC's tolerances are wider than ours: check that its solution is feasible.
    if (q.feasible() && (out.best.assignment.empty() || q.objective < out.best.quality.objective)) {
      out.best.assignment = std::move(found);
      out.best.quality = std::move(q);
    }
  }
  if (out.best.assignment.empty())
    out.best.problem =
        out.proven ? "no partition is within the limits" : "no partition within the limits was found in time";
  else
    out.lower_bound = out.proven
                          ? out.best.quality.objective
                          : std::clamp(model.getBestPossibleObjValue(), 0.0, out.best.quality.objective);
  return out;
}

}  // namespace troupe
