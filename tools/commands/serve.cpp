#include "tools/commands/serve.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "config/cluster_file.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"
#include "tools/node/serve_node.hpp"

namespace troupe {
namespace {

/// A command for a client of the model.
std::string curl_line(const served_name& m, uint16_t port) {
  const auto post = [&](std::string_view path, std::string_view fields) {
    return fmt::format("curl http://127.0.0.1:{}/v1/{} -d '{{\"model\": \"{}\", {}}}'\n", port, path, m.name,
                       fields);
  };
  switch (m.task) {
    case served_task::tensors: return fmt::format("curl http://127.0.0.1:{}/v2/models/{}\n", port, m.name);
    case served_task::completions: return post("completions", R"("prompt": "Hello")");
    case served_task::embeddings: return post("embeddings", R"("input": "Hello")");
    case served_task::scores:
      return post("rerank", R"("query": "Hello?", "documents": ["Hello", "Goodbye"])");
  }
  return {};
}

/// Problems of the cluster file are in lines that the user did not write.
constexpr auto about_cluster_file =
    "troupe: the lines are those of the cluster file that troupe serve --print-config prints; edit it for "
    "troupe up, or give flags: --slo-ms for slo_ms (a model of Triton: default_timeout_microseconds), "
    "--port for http_port and control_port, --threads for threads, --kv-mb for kv_mb, --shape for shapes";

}  // namespace

int serve_paths(const serve_command& command) {
  serving_plan plan;
  try {
    plan = plan_serving(command.what);
  } catch (const std::invalid_argument& e) {
    std::istringstream problems(e.what());
    for (std::string line; std::getline(problems, line);) report("troupe: {}", line);
    return exit_bad_input;
  }
  for (const auto& note : plan.notes) report("troupe: {}", note);
  if (command.print_config) {
    fmt::print("{}", plan.cluster_file);
    return exit_done;
  }
  const auto reading = read_cluster_text(plan.cluster_file, "troupe serve", std::filesystem::current_path());
  for (const auto& p : reading.problems) report("{}", to_string(p));
  if (!reading.ok()) {
    report_line(about_cluster_file);
    return exit_bad_input;
  }
  std::string commands;
  if (!command.json)
    for (const auto& m : plan.models) commands += curl_line(m, command.what.port);
  return serve_node(reading.spec, {.node = "serve", .json = command.json, .before_ready = commands});
}

}  // namespace troupe
