#include "tools/lab/plot_reader.hpp"

#include <string_view>
#include <vector>

namespace troupe::lab {

plot_spec read_plot(section& s, bool axes_complete, const experiment& of) {
  plot_spec p;
  p.what = static_cast<plot_spec::kind>(s.choice("kind", plot_kinds, 0));
  if (p.what == plot_spec::kind::engines && of.what != measure::llm)
    s.refuse("kind", "only the measure llm has engines to draw");
  auto metrics = metrics_of(of.what);
  if (of.relative_to) metrics.push_back("relative");
  std::vector<std::string_view> axes;
  for (const auto& a : of.axes) axes.push_back(a.parameter);
  if (!axes_complete) {
    for (const auto* key : {"x", "lines"}) s.unused(key);
  } else if (p.what == plot_spec::kind::lines) {
    if (const auto i = s.choice("x", axes)) p.x = axes[*i];
  } else {
    s.unused("x", "only lines have one");
  }
  if (s.has("y")) {
    for (const auto i : s.choices("y", metrics, false)) p.y.emplace_back(metrics[i]);
  } else {
    s.unused("y");
  }
  if (p.y.empty()) p.y.emplace_back(main_metric(of.what));
  axes.push_back("policy");
  if (axes_complete) p.lines = axes[s.choice("lines", axes, axes.size() - 1)];
  p.x_label = s.text("x_label", "");
  p.y_label = s.text("y_label", "");
  p.log_x = s.flag("log_x", false);
  const std::vector<std::string_view> known(of.policies.begin(), of.policies.end());
  for (const auto i : s.choices("policies", known, false)) p.policies.emplace_back(known[i]);
  return p;
}

}  // namespace troupe::lab
