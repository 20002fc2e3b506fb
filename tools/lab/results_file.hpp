// The results of an experiment as files: JSON, which holds everything, and CSV for other tools.
#pragma once
#include <filesystem>
#include <string>

#include "tools/lab/results.hpp"

namespace troupe::lab {

/// {experiment, title, reproduces, says, differs, measure, quick, seconds, axes, points: [{case, at:
/// {parameter: value}, policy, metrics, paper, tables: [{name, columns, rows}]}], claims: [{text, metric,
/// at_least, at_most, paper, reproduced, because, points, min, median, max, kept, checked, holds,
/// matches_claim, exceptions}]}. Numbers that are not finite are null.
std::string to_json(const results& r);

/// The points of such a document. It must have the axes of its experiment `e`. Throws std::runtime_error that
/// names the problem.
results results_of_json(const std::string& json, const experiment& e);

/// One line a point: case, axes, policy, metrics, and a column paper_<metric> beside each metric that the
/// paper prints.
std::string points_csv(const results& r);
/// One line a row of a point's tables: case, axes, policy, table, columns. Empty if there are none. Tables
/// with different columns have a header each.
std::string tables_csv(const results& r);

/// Writes NAME.json, NAME.csv and, if there are tables, NAME-runs.csv. Throws std::runtime_error.
void write_results(const results& r, const std::filesystem::path& folder);
void write_file(const std::filesystem::path& file, const std::string& content);

}  // namespace troupe::lab
