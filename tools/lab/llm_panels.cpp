#include "tools/lab/llm_panels.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::lab {

namespace {

std::string name_of(const point& p) { return p.case_name.empty() ? p.policy : p.case_name + ", " + p.policy; }

plot_panel over_time(const point& p, const table& t, size_t column, const char* label) {
  std::string data;
  for (const auto& row : t.rows) data += fmt::format("{:.6g} {:.6g}\n", row[0], row[column]);
  return {name_of(p),
          "time (s)",
          label,
          fmt::format("set key off\nset yrange [0:*]\nset xrange [0:{:.6g}]\n", t.rows.back()[0]),
          "set key\nset yrange [*:*]\nset xrange [*:*]\n",
          {{label, data, "using 1:2 with steps lw 1.5 lc rgb '#1f5fa8'"}}};
}

/// `max`: the batch with the darkest colour.
plot_panel batch_of_each_engine(const point& p, const table& t, double max) {
  std::string data;
  double engines = 0;
  for (const auto& row : t.rows) {
    data += fmt::format("{:.6g} {} {:.6g}\n", row[0], row[1], row[2]);
    engines = std::max(engines, row[1] + 1);
  }
  return {name_of(p),
          "time (s)",
          "engine",
          fmt::format("set key off\nset yrange [-0.5:{}]\nset xrange [0:{:.6g}]\nset cbrange [0:{:.0f}]\n"
                      "set cblabel 'batch size'\n"
                      "set palette defined (0 'white', 0.001 '#dbe9f6', 1 '#08306b')\n",
                      engines - 0.5, t.rows.back()[0], max),
          "set key\nset yrange [*:*]\nset xrange [*:*]\nset cbrange [*:*]\nunset cblabel\n",
          {{"", data, "using 1:2:3 with image"}}};
}

}  // namespace

std::vector<plot_panel> engine_panels(const results& r) {
  const auto has_table = [](const point& p) { return p.tables.size() >= 2 && !p.tables[0].rows.empty(); };
  double max = 1;
  for (const auto& p : r.points)
    if (has_table(p))
      for (const auto& row : p.tables[1].rows) max = std::max(max, row[2]);
  std::vector<plot_panel> out;
  for (const auto& p : r.points) {
    if (!has_table(p)) continue;
    out.push_back(over_time(p, p.tables[0], 1, "requests/s"));
    out.push_back(over_time(p, p.tables[0], 2, "tokens/s"));
    out.push_back(batch_of_each_engine(p, p.tables[1], max));
  }
  return out;
}

}  // namespace troupe::lab
