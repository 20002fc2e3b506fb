#include "tools/lab/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "tools/lab/parameter.hpp"
#include "tools/lab/plot_panels.hpp"
#include "tools/lab/results_file.hpp"

namespace troupe::lab {

namespace {

/// Quoted as one word for a shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return out + "'";
}

struct sheet {
  size_t columns, rows;
  std::string size;  ///< in pixels: "840,360"
};

sheet sheet_of(const results& r, size_t panels) {
  const auto kind = r.what.plot->what;
  const bool wide = kind == plot_spec::kind::timeline || kind == plot_spec::kind::engines;
  const size_t columns = std::clamp<size_t>(panels, 1, wide ? 1 : 3);
  const size_t rows = (panels + columns - 1) / columns;
  return {columns, rows,
          fmt::format("{},{}", columns * (wide ? 900 : 440) + 40, rows * (wide ? 200 : 320) + 60)};
}

/// Whether a line has a point: numbers that are not finite are written as `?` and left out.
bool has_point(const plot_line& l) {
  std::istringstream rows{l.data};
  for (std::string row; std::getline(rows, row);)
    if (row.find('?') == std::string::npos) return true;
  return false;
}

/// Panels without empty lines: gnuplot fails on those.
std::vector<plot_panel> drawable(std::vector<plot_panel> panels) {
  for (auto& p : panels) std::erase_if(p.lines, [](const auto& l) { return !has_point(l); });
  return panels;
}

}  // namespace

std::string plot_script(const results& r) {
  if (!r.what.plot) return {};
  const auto panels = drawable(panels_of(r));
  if (panels.empty()) return {};
  const auto [columns, rows, size] = sheet_of(r, panels.size());
  std::string out =
      fmt::format("# {}\n# gnuplot -e \"set terminal svg size {}; set output '{}.svg'\" {}.gnuplot\n",
                  r.what.title, size, r.what.name, r.what.name);
  out +=
      "set encoding utf8\nset datafile missing '?'\nset grid lc rgb '#dddddd'\nset key below noenhanced "
      "font ',8' samplen 2\nset border 3\nset tics nomirror\n";
  int block = 0;
  for (const auto& p : panels)
    for (const auto& l : p.lines) out += fmt::format("$data{} << EOD\n{}EOD\n", block++, l.data);
  out += fmt::format("set multiplot layout {},{} title {} noenhanced font ',11'\n", rows, columns,
                     gnuplot_text(r.what.title + (r.quick ? " (quick run)" : "")));
  block = 0;
  for (const auto& p : panels) {
    out += fmt::format(
        "set title {} noenhanced font ',10'\nset xlabel {} noenhanced\nset ylabel {} noenhanced\n",
        gnuplot_text(p.title), gnuplot_text(p.x_label), gnuplot_text(p.y_label));
    out += p.settings;
    std::string plots;
    for (const auto& l : p.lines)
      plots += fmt::format("{}$data{} {} title {}", plots.empty() ? "" : ", \\\n     ", block++, l.style,
                           l.title.empty() ? "''" : gnuplot_text(l.title));
    if (plots.empty()) {  // an empty frame keeps the layout of the other panels
      out += "unset logscale\nset xrange [0:1]\nset yrange [0:1]\nplot NaN title 'no value is finite'\n" +
             p.reset;
      out += "set xrange [*:*]\nset yrange [*:*]\n";
      continue;
    }
    out += "plot " + plots + "\n" + p.reset;
  }
  return out + "unset multiplot\n";
}

std::string draw(const results& r, const std::filesystem::path& folder) {
  const auto script = plot_script(r);
  if (script.empty()) return {};
  const auto file = folder / (r.what.name + ".gnuplot");
  write_file(file, script);
  if (std::system("gnuplot --version >/dev/null 2>&1") != 0)
    return "gnuplot is missing, so no plot was drawn; install it (Debian: gnuplot-nox) and run troupe "
           "experiment plot";
  const auto size = sheet_of(r, panels_of(r).size()).size;
  for (const auto& [kind, terminal] : {std::pair{"png", "pngcairo noenhanced font \"sans,9\""},
                                       std::pair{"svg", "svg noenhanced font \"sans,10\""}}) {
    const auto image = folder / fmt::format("{}.{}", r.what.name, kind);
    const auto setting =
        fmt::format("set terminal {} size {}; set output {}", terminal, size, gnuplot_text(image.string()));
    const auto command = fmt::format("gnuplot -e {} {}", quoted(setting), quoted(file.string()));
    if (std::system(command.c_str()) != 0) return fmt::format("gnuplot failed on {}", file.string());
  }
  return {};
}

}  // namespace troupe::lab
