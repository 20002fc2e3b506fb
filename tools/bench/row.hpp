// A result of `troupe bench`, with its reference.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct bench_row {
  std::string name;
  double value = 0;
  std::string unit;
  std::optional<double> reference = {};                            ///< in the same unit
  nlohmann::ordered_json more = nlohmann::ordered_json::object();  ///< further fields

  /// value / reference. Requires: a reference.
  double ratio() const { return value / *reference; }
};

/// {name, value, unit, reference, ratio, ...}; without a reference, both of its keys are missing.
nlohmann::ordered_json row_json(const bench_row& row);
/// The objects of all rows, in order.
nlohmann::ordered_json rows_json(const std::vector<bench_row>& rows);

}  // namespace troupe
