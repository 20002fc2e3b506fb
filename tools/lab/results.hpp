// Results of an experiment: points with their metrics, the curves of runs, and the verdict on the paper's
// claims.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/lab/experiment.hpp"

namespace troupe::lab {

/// Rows of numbers under named columns: a distribution, the batches of a run, a timeline.
struct table {
  std::string name;  ///< of the model or GPU; empty if of all
  std::vector<std::string> columns;
  std::vector<std::vector<double>> rows;
};

struct point {
  std::string case_name;
  std::vector<std::optional<double>> at;  ///< by axis; none: the case has no such axis
  std::string policy;
  std::map<std::string, double> metrics;
  std::map<std::string, double> paper;  ///< metrics with the paper's printed values
  std::vector<table> tables;
};

struct claim_result {
  claim what;
  size_t points = 0;                    ///< number of points that it is about
  double min = 0, median = 0, max = 0;  ///< of the metric or ratio
  double kept = 0;                      ///< the fraction of them that keeps it
  bool checked = true;                  ///< false: not in a quick run
  bool holds = false;
  std::vector<std::string> exceptions;  ///< the points that do not keep it, each with its value

  /// Whether the claim holds exactly if the file says that it is reproduced.
  bool matches_claim() const { return !checked || (points > 0 && holds == what.reproduced); }
};

struct results {
  experiment what;
  bool quick = false;
  std::vector<point> points;
  std::vector<claim_result> claims;
  double seconds = 0;  ///< run time

  bool all_claims_hold() const;
};

/// Whether the selector matches the point.
bool matches(const selector& s, const experiment& e, const point& p);

/// The verdict on each claim of the experiment. A claim about no point does not hold, and neither does one
/// about a point whose metric or ratio is not finite.
std::vector<claim_result> judge(const experiment& e, const std::vector<point>& points, bool quick);

}  // namespace troupe::lab
