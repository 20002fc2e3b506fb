#include "tools/commands/experiment_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace troupe {
namespace {

using table_row = std::vector<std::string>;

std::string number(double x) {
  if (std::isnan(x)) return "-";  // the confidence interval of one seed
  if (!std::isfinite(x)) return "never";
  if (x != 0 && std::abs(x) < 0.1) return fmt::format("{:.4f}", x);
  if (std::abs(x) < 100) return fmt::format("{:.2f}", x);
  return fmt::format("{:.0f}", x);
}

std::string aligned(const std::vector<table_row>& rows) {
  std::vector<size_t> width;
  for (const auto& r : rows) {
    width.resize(std::max(width.size(), r.size()));
    for (size_t i = 0; i < r.size(); ++i) width[i] = std::max(width[i], r[i].size());
  }
  std::string out;
  for (const auto& r : rows) {
    std::string line = "  ";
    for (size_t i = 0; i < r.size(); ++i) line += fmt::format("{:<{}}  ", r[i], width[i]);
    while (line.ends_with(' ')) line.pop_back();
    out += line + '\n';
  }
  return out;
}

std::string points_table(const lab::results& r) {
  constexpr size_t max_shown = 60;  // points; larger samples are only in the files
  const auto metrics = [&] {
    auto names = lab::metrics_of(r.what.what);
    if (r.what.relative_to) names.insert(names.begin() + 1, "relative");
    std::erase_if(names, [&](auto name) {
      return std::none_of(r.points.begin(), r.points.end(),
                          [&](const auto& p) { return p.metrics.contains(std::string{name}); });
    });
    return names;
  }();
  const bool cases =
      std::any_of(r.points.begin(), r.points.end(), [](const auto& p) { return !p.case_name.empty(); });
  table_row head;
  if (cases) head.emplace_back("case");
  for (const auto& a : r.what.axes) head.push_back(a.parameter);
  head.emplace_back("policy");
  for (const auto m : metrics) head.emplace_back(m);
  std::vector<table_row> rows{head};
  for (const auto& p : r.points) {
    if (rows.size() > max_shown) break;
    table_row line;
    if (cases) line.push_back(p.case_name);
    for (const auto& x : p.at) line.push_back(x ? fmt::format("{}", *x) : "-");
    line.push_back(p.policy);
    for (const auto m : metrics) {
      const std::string name{m};
      auto text = p.metrics.contains(name) ? number(p.metrics.at(name)) : "-";
      if (p.paper.contains(name)) text += fmt::format(" (paper {})", number(p.paper.at(name)));
      line.push_back(std::move(text));
    }
    rows.push_back(std::move(line));
  }
  auto out = aligned(rows);
  if (r.points.size() > max_shown) out += fmt::format("  ... {} points in all\n", r.points.size());
  return out;
}

std::string_view verdict(const lab::claim_result& c) {
  if (!c.checked) return "[not checked]";
  if (c.points == 0) return "[FAILS: no points selected]";
  if (!c.what.reproduced) return c.holds ? "[HOLDS, but is marked as not reproduced]" : "[not reproduced]";
  return c.holds ? "[holds]" : "[FAILS]";
}

std::string claim_text(const lab::claim_result& c) {
  std::string bound;
  if (c.what.at_least) bound += fmt::format(">= {}", *c.what.at_least);
  if (c.what.at_most) bound += fmt::format("{}<= {}", bound.empty() ? "" : ", ", *c.what.at_most);
  auto out = fmt::format("  {} {}\n      ours {} .. {} (median {}, {} points), expected {}", verdict(c),
                         c.what.text, number(c.min), number(c.max), number(c.median), c.points, bound);
  if (c.what.points < 1)
    out += fmt::format(" at {:.0f} % of them (kept at {:.1f} %)", 100 * c.what.points, 100 * c.kept);
  if (!c.what.paper.empty()) out += fmt::format("; the paper: {}", c.what.paper);
  out += '\n';
  if (!c.what.because.empty()) out += fmt::format("      because {}\n", c.what.because);
  constexpr size_t max_shown = 12;
  for (size_t i = 0; i < c.exceptions.size() && i < max_shown; ++i)
    out += fmt::format("      not at {}\n", c.exceptions[i]);
  if (c.exceptions.size() > max_shown) out += fmt::format("      ... at {} in all\n", c.exceptions.size());
  return out;
}

}  // namespace

std::string experiment_report(const lab::results& r) {
  auto out = fmt::format("{}: {}{} ({:.1f} s)\n", r.what.name, r.what.title, r.quick ? ", quick run" : "",
                         r.seconds);
  if (!r.what.says.empty()) out += fmt::format("  {}: {}\n", r.what.reproduces, r.what.says);
  if (!r.what.differs.empty()) out += fmt::format("  Ours: {}\n", r.what.differs);
  out += points_table(r);
  for (const auto& c : r.claims) out += claim_text(c);
  return out + '\n';
}

}  // namespace troupe
