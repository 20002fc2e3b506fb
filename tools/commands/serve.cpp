#include "tools/commands/serve.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "config/cluster_file.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"
#include "tools/node/serve_node.hpp"

namespace troupe {
namespace {

void print_curl(const served_name& m, uint16_t port) {
  const auto post = [&](std::string_view path, std::string_view fields) {
    fmt::print("curl http://127.0.0.1:{}/v1/{} -d '{{\"model\": \"{}\", {}}}'\n", port, path, m.name, fields);
  };
  switch (m.task) {
    case served_task::tensors: return fmt::print("curl http://127.0.0.1:{}/v2/models/{}\n", port, m.name);
    case served_task::completions: return post("completions", R"("prompt": "Hello")");
    case served_task::embeddings: return post("embeddings", R"("input": "Hello")");
    case served_task::scores:
      return post("rerank", R"("query": "Hello?", "documents": ["Hello", "Goodbye"])");
  }
}

}  // namespace

int serve_paths(const serve_command& command) {
  serving_plan plan;
  try {
    plan = plan_serving(command.what);
  } catch (const std::invalid_argument& e) {
    report("troupe: {}", e.what());
    return exit_bad_input;
  }
  if (command.print_config) {
    fmt::print("{}", plan.cluster_file);
    return exit_done;
  }
  const auto reading = read_cluster_text(plan.cluster_file, "troupe serve", std::filesystem::current_path());
  for (const auto& p : reading.problems) report("{}", to_string(p));
  if (!reading.ok()) return exit_bad_input;
  if (!command.json)
    for (const auto& m : plan.models) print_curl(m, command.what.port);
  std::fflush(stdout);
  return serve_node(reading.spec, {.node = "serve", .json = command.json});
}

}  // namespace troupe
