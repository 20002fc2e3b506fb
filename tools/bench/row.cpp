#include "tools/bench/row.hpp"

namespace troupe {

nlohmann::ordered_json row_json(const bench_row& row) {
  nlohmann::ordered_json out{{"name", row.name}, {"value", row.value}, {"unit", row.unit}};
  if (row.reference) {
    out["reference"] = *row.reference;
    out["ratio"] = row.ratio();
  }
  out.update(row.more);
  return out;
}

nlohmann::ordered_json rows_json(const std::vector<bench_row>& rows) {
  auto out = nlohmann::ordered_json::array();
  for (const auto& r : rows) out.push_back(row_json(r));
  return out;
}

}  // namespace troupe
