// What came of an experiment: points with their metrics, the curves of runs, and how the paper's claims fare.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/lab/experiment.hpp"

namespace troupe::lab {

/// Rows of numbers under named columns: a distribution, the batches of a run, a timeline.
struct table {
  std::string name;  ///< of the model or GPU it is about; empty if of all
  std::vector<std::string> columns;
  std::vector<std::vector<double>> rows;
};

struct point {
  std::string case_name;
  std::vector<std::optional<double>> at;  ///< by axis; none: the case leaves it out
  std::string policy;
  std::map<std::string, double> metrics;
  std::map<std::string, double> paper;  ///< the metrics that the paper prints
  std::vector<table> tables;
};

struct claim_result {
  claim what;
  size_t points = 0;                    ///< that it is about
  double min = 0, median = 0, max = 0;  ///< of the metric or ratio
  double kept = 0;                      ///< by this share of them
  bool checked = true;                  ///< false: not in a quick run
  bool holds = false;
  std::vector<std::string> exceptions;  ///< the points that do not keep it, each with its value

  /// Holds if the file says that it is reproduced, and does not if the file says that it is not.
  bool matches_claim() const { return !checked || (points > 0 && holds == what.reproduced); }
};

struct results {
  experiment what;
  bool quick = false;
  std::vector<point> points;
  std::vector<claim_result> claims;
  double seconds = 0;  ///< that running took

  bool all_claims_hold() const;
};

/// Whether the selector means the point.
bool matches(const selector& s, const experiment& e, const point& p);

/// How the claims of the experiment fare among the points. A claim about no point at all does not hold, and
/// neither does one at a point where its metric or ratio is not finite, whatever its bounds.
std::vector<claim_result> judge(const experiment& e, const std::vector<point>& points, bool quick);

}  // namespace troupe::lab
