#include "tools/lab/plot_panels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "tools/lab/llm_panels.hpp"
#include "tools/lab/parameter.hpp"

namespace troupe::lab {

namespace {

constexpr std::array<std::string_view, 8> colours{"#1f5fa8", "#d1495b", "#2e8b57", "#edae49",
                                                  "#6a4c93", "#00798c", "#8d5524", "#666666"};

/// The paper's values.
constexpr auto* paper_points = "using 1:2 with points pt 12 ps 1.2 lw 2 lc rgb 'black'";

std::string colour(size_t i) { return std::string{colours[i % colours.size()]}; }

std::string words(std::string_view metric) {
  static const std::map<std::string_view, std::string_view> known{
      {"goodput_rps", "goodput (requests/s)"},
      {"gpu_busy", "GPUs busy (fraction)"},
      {"bad_rate", "bad rate"},
      {"latency_us", "latency (µs)"},
      {"scheduled_rps", "requests/s through the scheduler"},
      {"cores", "cores"},
      {"mean_batch", "mean batch size"},
      {"median_batch", "median batch size"},
      {"gpus", "GPUs"},
      {"queue_p50_ms", "median queueing delay (ms)"},
      {"queue_p99_ms", "99th percentile of queueing delay (ms)"},
      {"rows", "batch size"},
      {"queueing_ms", "queueing delay (ms)"},
      {"requests_up_to", "fraction of requests"},
      {"rate_imbalance", "imbalance of rates, (max - min) / average"},
      {"memory_imbalance", "imbalance of memory, (max - min) / average"},
      {"configurations_up_to", "fraction of configurations"},
      {"slo_ms", "SLO (ms)"},
      {"rate_rps", "offered load (requests/s)"},
      {"network_us", "network delay (us)"},
      {"beta_ms", "beta (ms), alpha = 1 ms"},
      {"timeout_percent", "timeout (% of the SLO)"},
      {"offered_rps", "offered (requests/s)"},
      {"gpus_used", "GPUs used"},
      {"gpus_busy", "GPUs busy"},
      {"tokens_per_s", "tokens/s"},
      {"advice_gpus", "advice (GPUs)"},
      {"time_s", "time (s)"}};
  const auto found = known.find(metric);
  return std::string{found == known.end() ? metric : found->second};
}

std::string cell(double x) { return std::isfinite(x) ? fmt::format("{:.6g}", x) : "?"; }

class panel_maker {
 public:
  explicit panel_maker(const results& r) : r_(r), e_(r.what), plot_(*r.what.plot) {}

  std::vector<plot_panel> make() const {
    using kind = plot_spec::kind;
    switch (plot_.what) {
      case kind::lines: return lines();
      case kind::bars: return bars();
      case kind::curves: return curves();
      case kind::sorted: return sorted();
      case kind::timeline: return timeline();
      case kind::batches: return batches();
      case kind::engines: return engine_panels(r_);
    }
    return {};
  }

 private:
  bool shown(const point& p) const {
    return plot_.policies.empty() ||
           std::find(plot_.policies.begin(), plot_.policies.end(), p.policy) != plot_.policies.end();
  }
  size_t policy_index(const std::string& policy) const {
    return static_cast<size_t>(std::find(e_.policies.begin(), e_.policies.end(), policy) -
                               e_.policies.begin());
  }
  std::optional<double> coordinate(const point& p, const std::string& parameter) const {
    for (size_t i = 0; i < e_.axes.size(); ++i)
      if (e_.axes[i].parameter == parameter) return p.at[i];
    return {};
  }

  /// The labels of a panel: the case, and every axis that is neither x nor lines.
  std::string panel_name(const point& p) const {
    std::string out = p.case_name;
    for (size_t i = 0; i < e_.axes.size(); ++i) {
      const auto& name = e_.axes[i].parameter;
      if (name == plot_.x || name == plot_.lines || !p.at[i]) continue;
      out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", name, *p.at[i]);
    }
    if (plot_.lines != "policy" && e_.policies.size() > 1) out += (out.empty() ? "" : ", ") + p.policy;
    return out;
  }

  std::vector<plot_panel> lines() const {
    std::vector<std::string> names;
    for (const auto& p : r_.points)
      if (shown(p) && std::find(names.begin(), names.end(), panel_name(p)) == names.end())
        names.push_back(panel_name(p));
    std::vector<plot_panel> out;
    for (const auto& metric : plot_.y) {
      for (const auto& name : names) {
        plot_panel panel{name,
                         plot_.x_label.empty() ? words(plot_.x) : plot_.x_label,
                         plot_.y_label.empty() ? words(metric) : plot_.y_label,
                         "",
                         "",
                         {}};
        panel.settings = plot_.log_x ? "set logscale x\n" : "";
        panel.settings += "set yrange [0:*]\nset format '%.10g'\n";
        if (plot_.x == "rate_rps") panel.settings += "set format x '%.0s%c'\n";
        if (metric == "goodput_rps") panel.settings += "set format y '%.0s%c'\n";
        panel.reset = "unset logscale\nset yrange [*:*]\nset format '% h'\n";
        std::map<std::string, std::pair<size_t, std::string>> by_line;  // in order of appearance
        std::vector<std::string> order;
        std::string paper;
        for (const auto& p : r_.points) {
          if (!shown(p) || panel_name(p) != name) continue;
          const auto x = coordinate(p, plot_.x);
          const auto y = p.metrics.find(metric);
          if (!x || y == p.metrics.end()) continue;
          const auto line = plot_.lines == "policy"
                                ? p.policy
                                : fmt::format("{} = {}", plot_.lines, coordinate(p, plot_.lines).value_or(0));
          if (!by_line.contains(line)) {
            order.push_back(line);
            by_line[line].first = plot_.lines == "policy" ? policy_index(p.policy) : order.size() - 1;
          }
          by_line[line].second += fmt::format("{} {}\n", *x, cell(y->second));
          if (p.paper.contains(metric) && std::isfinite(y->second))
            paper += fmt::format("{} {}\n", *x, cell(p.paper.at(metric)));
        }
        for (const auto& line : order)
          panel.lines.push_back({line, by_line[line].second,
                                 fmt::format("using 1:2 with linespoints lw 1.5 pt 7 ps 0.4 lc rgb '{}'",
                                             colour(by_line[line].first))});
        if (!paper.empty()) panel.lines.push_back({"the paper", paper, paper_points});
        out.push_back(std::move(panel));
      }
    }
    return out;
  }

  /// A group of bars for each case, or without cases for each value of the first axis.
  std::vector<plot_panel> bars() const {
    std::vector<std::string> groups;
    const auto group = [&](const point& p) {
      std::string out = p.case_name;
      for (size_t i = 0; i < e_.axes.size(); ++i)
        if (p.at[i]) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", e_.axes[i].parameter, *p.at[i]);
      return out;
    };
    for (const auto& p : r_.points)
      if (shown(p) && std::find(groups.begin(), groups.end(), group(p)) == groups.end())
        groups.push_back(group(p));
    std::vector<std::string> policies;
    for (const auto& p : e_.policies)
      if (plot_.policies.empty() ||
          std::find(plot_.policies.begin(), plot_.policies.end(), p) != plot_.policies.end())
        policies.push_back(p);
    const double width = 0.8 / static_cast<double>(policies.size());

    std::vector<plot_panel> out;
    for (const auto& metric : plot_.y) {
      plot_panel panel{"", plot_.x_label, plot_.y_label.empty() ? words(metric) : plot_.y_label, "", "", {}};
      panel.settings =
          fmt::format("set yrange [0:*]\nset xrange [-0.6:{}]\nset style fill solid 0.8\nset boxwidth {}\n",
                      static_cast<double>(groups.size()) - 0.4, width * 0.9);
      std::string tics;
      for (size_t i = 0; i < groups.size(); ++i)
        tics += fmt::format("{}{} {}", i > 0 ? ", " : "", gnuplot_text(groups[i]), i);
      panel.settings += fmt::format("set xtics rotate by -20 noenhanced font ',8' ({})\n", tics);
      panel.reset = "set yrange [*:*]\nset xrange [*:*]\nset xtics norotate autofreq\n";
      std::string paper;
      for (const auto& policy : policies) {
        plot_line line{policy, "",
                       fmt::format("using 1:2 with boxes lc rgb '{}'", colour(policy_index(policy)))};
        for (const auto& p : r_.points) {
          if (p.policy != policy || !p.metrics.contains(metric)) continue;
          const auto g = std::find(groups.begin(), groups.end(), group(p)) - groups.begin();
          const auto i = std::find(policies.begin(), policies.end(), policy) - policies.begin();
          const double x = static_cast<double>(g) +
                           width * (static_cast<double>(i) - (static_cast<double>(policies.size()) - 1) / 2);
          line.data += fmt::format("{} {}\n", x, cell(p.metrics.at(metric)));
          if (p.paper.contains(metric)) paper += fmt::format("{} {}\n", x, cell(p.paper.at(metric)));
        }
        if (!line.data.empty()) panel.lines.push_back(std::move(line));
      }
      if (!paper.empty()) panel.lines.push_back({"the paper", paper, paper_points});
      out.push_back(std::move(panel));
    }
    return out;
  }

  std::vector<plot_panel> curves() const {
    std::vector<plot_panel> out;
    for (const auto& p : r_.points) {
      if (!shown(p) || p.tables.empty()) continue;
      for (const auto& t : p.tables) add_curve(p, t, out);
    }
    return out;
  }

  void add_curve(const point& p, const table& t, std::vector<plot_panel>& out) const {
    const auto median = t.columns[0] == "rows"          ? std::string{"median_batch"}
                        : t.columns[0] == "queueing_ms" ? std::string{"queue_p50_ms"}
                                                        : t.columns[0];
    const auto name = e_.what == measure::partition ? t.name : panel_name(p);
    auto panel = std::find_if(out.begin(), out.end(), [&](const auto& x) { return x.title == name; });
    if (panel == out.end()) {
      const std::string log = plot_.log_x ? "set logscale x\n" : "";
      out.push_back({name,
                     words(t.columns[0]),
                     words(t.columns[1]),
                     log + "set yrange [0:1]\n",
                     "unset logscale\nset yrange [*:*]\n",
                     {}});
      panel = out.end() - 1;
    }
    std::string data;
    for (const auto& row : t.rows) data += fmt::format("{} {}\n", cell(row[0]), cell(row[1]));
    auto title = fmt::format("{}: median {:.3g}", p.policy, p.metrics.at(median));
    if (p.paper.contains(median)) title += fmt::format(" (paper: {:.3g})", p.paper.at(median));
    if (data.empty()) return;
    panel->lines.push_back(
        {title, data,
         fmt::format("using 1:2 with steps lw 1.5 lc rgb '{}'", colour(policy_index(p.policy)))});
  }

  std::vector<plot_panel> sorted() const {
    std::vector<plot_panel> out;
    std::vector<std::string> names{"all"};
    for (const auto& p : r_.points)
      if (std::find(names.begin(), names.end(), p.case_name) == names.end()) names.push_back(p.case_name);
    for (const auto& metric : plot_.y) {
      const auto label = plot_.y_label.empty() ? words(metric) : plot_.y_label;
      plot_panel panel{"", "fraction of workloads", label, "set xrange [0:1]\n", "set xrange [*:*]\n", {}};
      for (size_t i = 0; i < names.size(); ++i) {
        std::vector<double> values;
        for (const auto& p : r_.points)
          if (shown(p) && (i == 0 || p.case_name == names[i]) && p.metrics.contains(metric) &&
              std::isfinite(p.metrics.at(metric)))
            values.push_back(p.metrics.at(metric));
        std::sort(values.begin(), values.end(), std::greater<>{});
        std::string data;
        for (size_t k = 0; k < values.size(); ++k)
          data += fmt::format("{} {}\n", (static_cast<double>(k) + 0.5) / static_cast<double>(values.size()),
                              cell(values[k]));
        if (data.empty()) continue;
        panel.lines.push_back(
            {names[i], data,
             i == 0 ? std::string{"using 1:2 with lines lw 3 lc rgb 'black'"}
                    : fmt::format("using 1:2 with points pt 7 ps 0.5 lc rgb '{}'", colour(i - 1))});
      }
      out.push_back(std::move(panel));
    }
    return out;
  }

  std::vector<plot_panel> timeline() const {
    std::vector<plot_panel> out;
    for (const auto& p : r_.points) {
      if (!shown(p) || p.tables.empty()) continue;
      // goodput of each model, stacked
      plot_panel stack{panel_name(p),   words("time_s"), "goodput by model (requests/s)",
                       "set key off\n", "set key\n",     {}};
      std::vector<double> below(p.tables[0].rows.size(), 0);
      for (size_t m = 1; m < p.tables.size(); ++m) {
        std::string data;
        for (size_t i = 0; i < below.size(); ++i) {
          const auto& row = p.tables[m].rows[i];
          data += fmt::format("{} {} {}\n", cell(row[0]), cell(below[i]), cell(below[i] + row[1]));
          below[i] += row[1];
        }
        stack.lines.push_back(
            {p.tables[m].name, data,
             fmt::format("using 1:2:3 with filledcurves fs solid 0.7 noborder lc rgb '{}'", colour(m))});
      }
      out.push_back(std::move(stack));
      const auto& all = p.tables[0];
      for (size_t c = 1; c < all.columns.size(); ++c) {
        if (all.columns[c] == "goodput_rps" || all.columns[c] == "gpus_busy") continue;
        std::string data;
        for (const auto& row : all.rows) data += fmt::format("{} {}\n", cell(row[0]), cell(row[c]));
        const bool signless = all.columns[c] != "advice_gpus";
        out.push_back({"",
                       words("time_s"),
                       words(all.columns[c]),
                       signless ? "set yrange [0:*]\n" : "",
                       "set yrange [*:*]\n",
                       {{all.columns[c], data, "using 1:2 with steps lw 1.5 lc rgb '#1f5fa8'"}}});
      }
    }
    return out;
  }

  std::vector<plot_panel> batches() const {
    std::vector<plot_panel> out;
    for (const auto& p : r_.points) {
      if (!shown(p) || p.tables.size() < 2) continue;
      const auto& t = p.tables[0];
      double gpus = 0;
      std::string boxes, names, crosses;
      for (const auto& row : t.rows) {
        gpus = std::max(gpus, row[0] + 1);
        boxes += fmt::format("{} {} {} {} {} {}\n", row[1], row[0] + 1, row[1], row[2], row[0] + 0.7,
                             row[0] + 1.3);
        names += fmt::format("{} {} {}\n", (row[1] + row[2]) / 2, row[0] + 1, row[3]);
      }
      for (const auto& row : p.tables[1].rows) crosses += fmt::format("{} 0.3\n", cell(row[0]));
      plot_panel panel{
          fmt::format("{}: {} dropped", panel_name(p).empty() ? p.policy : panel_name(p) + ", " + p.policy,
                      p.tables[1].rows.size()),
          "time (ms)",
          "GPU",
          fmt::format("set yrange [0:{}]\nset ytics 1\nset key off\n", gpus + 0.6),
          "set yrange [*:*]\nset ytics autofreq\nset key\n",
          {}};
      panel.lines.push_back({"", boxes, "using 1:2:3:4:5:6 with boxxyerror fs solid 0.4 lc rgb '#1f5fa8'"});
      panel.lines.push_back({"", names, "using 1:2:3 with labels font ',7'"});
      if (!crosses.empty())
        panel.lines.push_back({"", crosses, "using 1:2 with points pt 2 lc rgb '#d1495b'"});
      out.push_back(std::move(panel));
    }
    return out;
  }

  const results& r_;
  const experiment& e_;
  const plot_spec& plot_;
};

}  // namespace

std::string gnuplot_text(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string{"''"} : std::string{c};
  return out + "'";
}

std::vector<plot_panel> panels_of(const results& r) {
  return r.what.plot ? panel_maker{r}.make() : std::vector<plot_panel>{};
}

}  // namespace troupe::lab
