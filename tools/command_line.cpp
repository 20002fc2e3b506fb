#include "tools/command_line.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "config/cluster_file.hpp"

namespace troupe {

CLI::App* command(CLI::App& to, const char* name, const char* what, const char* example) {
  auto* sub = to.add_subcommand(name, what);
  sub->footer(std::string("Example:\n  ") + example);
  return sub;
}

int with_cluster(const std::string& file, const std::function<int(const cluster_spec&)>& use) {
  const auto reading = read_cluster(file);
  for (const auto& p : reading.problems) fmt::print(stderr, "{}\n", to_string(p));
  return reading.ok() ? use(reading.spec) : 2;
}

}  // namespace troupe
