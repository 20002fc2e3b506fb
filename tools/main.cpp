// The program `troupe`. Each subcommand parses its flags into an options struct, calls one function and
// returns its exit code: 0 done, 1 failed, 2 usage or bad input.
#include <fmt/core.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "config/problem.hpp"
#include "gpu/common/model_error.hpp"
#include "messages/common/version.hpp"
#include "tools/commands/change_models.hpp"
#include "tools/commands/check_config.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/make_certs.hpp"
#include "tools/commands/move_requests.hpp"
#include "tools/commands/simulate.hpp"
#include "tools/commands/status.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/openmp_spinning.hpp"
#include "tools/common/standard_streams.hpp"
#include "tools/node/serve_node.hpp"
#include "tools/node/up.hpp"
#include "transport/common/loopback.hpp"

namespace {

using namespace troupe;

void add_cluster_commands(CLI::App& app, cli_job& chosen) {
  struct arguments {
    std::string file, node, last_end;
    double clock_offset_ms = 0;
    bool json = false, no_restart = false;
    uint32_t restarts = 0;
    std::vector<std::string> wait;
  };
  auto a = std::make_shared<arguments>();

  auto* up_command =
      add_subcommand(app, "up", "Start a cluster: one process for each node of the file on this host",
                     "troupe up examples/quickstart/cluster.toml");
  up_command->add_option("file", a->file, "Cluster file")->required();
  up_command->add_option("--node", a->node, "Run only this node, in this process");
  up_command->add_flag("--json", a->json, "Print the ready line as a JSON document");
  up_command->add_option("--clock-offset-ms", a->clock_offset_ms, "Shift this process's clock (for tests)")
      ->check(finite_in(-1e9, 1e9));
  up_command->add_flag("--no-restart", a->no_restart, "Do not restart a node that crashes");
  // Passed by the supervisor:
  up_command->add_option("--restarts", a->restarts)->check(whole_in(0, UINT32_MAX))->group("");
  up_command->add_option("--last-end", a->last_end)->group("");
  up_command->callback([a, &chosen] {
    chosen = [a] {
      return with_cluster(a->file, [&](const cluster_spec& cluster) {
        const auto offset = from_ms(a->clock_offset_ms);
        const bool verbose = spdlog::get_level() <= spdlog::level::info;
        return a->node.empty() ? up(cluster, {a->file, offset, a->json, verbose, !a->no_restart})
                               : serve_node(cluster, {a->node, a->json, offset, a->restarts, a->last_end});
      });
    };
  });

  auto* check = add_subcommand(app, "check", "Check a cluster file and print every problem with its place",
                               "troupe check examples/quickstart/cluster.toml");
  check->add_option("file", a->file, "Cluster file")->required();
  check->add_flag("--json", a->json, "Print one JSON document");
  check->callback(
      [a, &chosen] { chosen = [a] { return check_config(a->file, a->json, std::cout, std::cerr); }; });

  auto* config = add_subcommand(app, "config", "Inspect a cluster file",
                                "troupe config dump examples/quickstart/cluster.toml");
  config->require_subcommand(1);
  auto* dump = add_subcommand(*config, "dump", "Print every effective value with its source",
                              "troupe config dump examples/quickstart/cluster.toml");
  dump->add_option("file", a->file, "Cluster file")->required();
  dump->add_flag("--json", a->json, "Print one JSON document");
  dump->callback(
      [a, &chosen] { chosen = [a] { return dump_config(a->file, a->json, std::cout, std::cerr); }; });

  auto* status_command = add_subcommand(app, "status", "Print the state of every node of a running cluster",
                                        "troupe status examples/quickstart/cluster.toml");
  status_command->add_option("file", a->file, "Cluster file")->required();
  status_command->add_flag("--json", a->json, "Print one JSON document");
  status_command
      ->add_option("--wait", a->wait, "Wait until the cluster is `ready` or `down`, at most SECONDS (60)")
      ->expected(1, 2)
      ->type_name("CONDITION [SECONDS]");
  status_command->callback([a, &chosen] {
    chosen = [a] {
      return with_cluster(a->file, [&](const cluster_spec& c) { return status(c, {a->wait, a->json}); });
    };
  });
}

void add_certs(CLI::App& app, cli_job& chosen) {
  auto c = std::make_shared<make_certs_options>();
  auto* certs = add_subcommand(app, "certs", "Make the certificates of a cluster's nodes and of its operator",
                               "troupe certs certs --cluster examples/quickstart/cluster.toml");
  certs->add_option("folder", c->folder, "Output folder")->required();
  certs->add_option("--cluster", c->cluster_file, "Make one for every node of this cluster file");
  certs->add_option("--node", c->nodes, "Make one for NAME, or for NAME=HOST,HOST... (may be repeated)");
  certs->add_option("--days", c->days, "Days of validity")
      ->check(CLI::Range(1, 36500))
      ->capture_default_str();
  certs->add_flag("--json", c->json, "Print one JSON document");
  certs->callback([c, &chosen] { chosen = [c] { return make_certs(*c); }; });
}

void add_changes(CLI::App& app, cli_job& chosen) {
  struct arguments {
    std::string file, name, domain;
    model_options model;
    change_options how;
    engine_change to;
  };
  auto a = std::make_shared<arguments>();
  const auto common = [a](CLI::App& to) {
    to.add_option("cluster", a->file, "Cluster file")->required();
    to.add_option("--wait", a->how.wait_s, "Wait until the change is complete, at most this many seconds")
        ->check(finite_in(0, 86'400))
        ->expected(0, 1)
        ->default_str("60");
    to.add_flag("--json", a->how.json, "Print one JSON document");
  };

  auto* deploy =
      add_subcommand(app, "deploy", "Deploy a model on a running cluster",
                     "troupe deploy cluster.toml --name mlp2 --source mlp.onnx --slo-ms 50 --wait");
  common(*deploy);
  deploy->add_option("--file", a->model.file,
                     "TOML file with keys of a [[model]] table; options give others");
  const auto key = [a, deploy](const char* flag, const char* name, bool text, const char* what) {
    deploy->add_option_function<std::string>(
        flag,
        [a, name, text](const std::string& value) {
          a->model.keys.emplace_back(name, text ? in_quotes(value) : value);
        },
        what);
  };
  key("--name", "name", true, "Name of the model, part of its URL");
  key("--source", "source", true, "ONNX file");
  key("--slo-ms", "slo_ms", false, "Latency objective, in ms");
  key("--engine", "engine", true, "Engine on CPUs: auto, native or openvino");
  key("--domain", "domain", true, "Scheduling domain of the model, if the cluster has domains");
  key("--max-batch", "max_batch", false, "Largest batch, in rows");
  key("--profile", "profile", false,
      "Latency profile, as '{ alpha_ms = 1, beta_ms = 5 }'; measured by default");
  key("--input-bytes", "input_bytes", false, "Bytes of an input row, for emulated models without a source");
  key("--output-bytes", "output_bytes", false,
      "Bytes of an output row, for emulated models without a source");
  deploy->callback([a, &chosen] {
    chosen = [a] {
      return with_cluster(a->file, [&](const cluster_spec& c) { return deploy_model(c, a->model, a->how); });
    };
  });

  auto* undeploy =
      add_subcommand(app, "undeploy", "Stop serving a model; accepted requests are still answered",
                     "troupe undeploy cluster.toml mlp2 --wait");
  common(*undeploy);
  undeploy->add_option("model", a->name, "Name of the model")->required();
  undeploy->callback([a, &chosen] {
    chosen = [a] {
      return with_cluster(a->file, [&](const cluster_spec& c) { return undeploy_model(c, a->name, a->how); });
    };
  });

  auto* migrate = add_subcommand(app, "migrate",
                                 "Move a model to another scheduling domain, or a generation request to "
                                 "another engine; no request or stream is lost",
                                 "troupe migrate cluster.toml mlp2 right --wait");
  common(*migrate);
  migrate->add_option("what", a->name, "Name of a model; with --engine: id of a generation request")
      ->required();
  auto* domain = migrate->add_option("domain", a->domain, "Name of a [[domain]]");
  auto* engine =
      migrate->add_option("--engine", a->to.engine, "Number of the engine that the request moves to")
          ->check(whole_in(0, UINT32_MAX));
  engine->excludes(domain);
  migrate->callback([a, domain, engine, &chosen] {
    if (engine->empty() && domain->empty())
      throw CLI::ValidationError("domain", "give a domain for a model, or --engine for a request");
    chosen = [a, is_request = !engine->empty()] {
      a->to.json = a->how.json;
      return with_cluster(a->file, [&](const cluster_spec& c) {
        return is_request ? migrate_request(c, a->name, a->to) : migrate_model(c, a->name, a->domain, a->how);
      });
    };
  });

  auto* drain = add_subcommand(app, "drain",
                               "Drain a node: it finishes its requests and its process ends. With --engine, "
                               "drain an engine: its sequences move to other engines",
                               "troupe drain cluster.toml worker --wait");
  common(*drain);
  auto* node = drain->add_option("node", a->name, "Name of the node");
  auto* emptied =
      drain->add_option("--engine", a->to.engine, "Number of the engine to drain, instead of a node")
          ->check(whole_in(0, UINT32_MAX));
  emptied->excludes(node);
  drain->add_flag("--open", a->to.open, "Let the engine take sequences again")->needs(emptied);
  drain->callback([a, node, emptied, &chosen] {
    if (node->empty() && emptied->empty()) throw CLI::ValidationError("node", "give a node, or --engine");
    chosen = [a, engine = !emptied->empty()] {
      a->to.json = a->how.json;
      a->to.wait_s = a->how.wait_s;
      return with_cluster(a->file, [&](const cluster_spec& c) {
        return engine ? drain_engine_of(c, a->to) : drain_one(c, a->name, a->how);
      });
    };
  });
}

void add_simulate(CLI::App& app, cli_job& chosen) {
  auto s = std::make_shared<simulate_options>();
  auto* sub =
      add_subcommand(app, "simulate", "Run a cluster in virtual time, with the same actors and policies",
                     "troupe simulate examples/quickstart/cluster.toml --workload "
                     "examples/quickstart/workload.toml --seed 7");
  sub->add_option("file", s->cluster_file, "Cluster file")->required();
  sub->add_option("--workload", s->workload_file, "Workload file")->required();
  sub->add_option("--seed", s->seed, "Seed, instead of the workload's")->check(whole_in(0, INT64_MAX));
  sub->add_option("--why", s->why, "Print the decisions about the request with this id instead")
      ->check(whole_in(1, UINT64_MAX));
  sub->add_option("--trace", s->trace_file, "Write a trace of requests and batches, for Perfetto");
  sub->add_flag("--json", s->json, "Print one JSON document");
  sub->callback([s, &chosen] { chosen = [s] { return simulate(*s); }; });
}

/// With --json a command that fails prints a document, too.
void print_error(const std::string& why) {
  const nlohmann::json document{{"error", why}};
  print_document(document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  std::fflush(stdout);
}

/// The exit code of the chosen command, or 1 if what it printed could not be written.
int run(const cli_job& chosen, bool json) {
  int code = exit_failed;
  std::string problem;
  try {
    code = chosen();
  } catch (const model_error& e) {
    problem = e.what();
    code = exit_bad_input;
  } catch (const std::exception& e) {
    problem = e.what();
  }
  if (const auto lost = flush_standard_output(); !lost.empty())
    problem = "cannot write to standard output: " + lost;
  if (!problem.empty()) {
    report("troupe: {}", problem);
    if (code == exit_done) code = exit_failed;
  }
  if (const auto lines = reported_lines();
      json && code != exit_done && !has_printed_document() && !lines.empty())
    print_error(lines);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  bound_openmp_spinning(argv);
  open_standard_streams();
  ::prctl(PR_SET_NAME, "troupe");  // nodes are started as /proc/self/exe
  ::prctl(PR_SET_TIMERSLACK, 1);   // nanoseconds, for all threads: by default every wake-up may be 50 us late
  spdlog::set_default_logger(spdlog::stderr_color_mt("troupe"));
  spdlog::set_pattern("time=%Y-%m-%dT%H:%M:%S.%e level=%l %v");
  spdlog::set_level(spdlog::level::warn);
  on_slow_lookup([](const std::string& host) {
    report("troupe: looking up the host '{}' of the cluster file; its name servers have not answered yet",
           host);
  });

  CLI::App app("Troupe: an actor runtime for inference clusters");
  app.footer(
      "Example:\n  troupe up examples/quickstart/cluster.toml\n\nEvery command has --help with an example.");
  app.set_version_flag("--version", std::string(version));
  app.require_subcommand(1);
  app.add_flag_callback(
      "--verbose", [] { spdlog::set_level(spdlog::level::info); },
      "Log events, not only warnings and errors");
  app.fallthrough();
  cli_job chosen;
  add_cluster_commands(app, chosen);
  add_actor_commands(app, chosen);
  add_certs(app, chosen);
  add_changes(app, chosen);
  add_client_commands(app, chosen);
  add_trace_commands(app, chosen);
  add_model_commands(app, chosen);
  add_simulate(app, chosen);
  add_bench_commands(app, chosen);
  add_lab_commands(app, chosen);
  const bool json = std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& e) {
    const auto extra = app.remaining(true);  // CLI11 only reports a missing subcommand
    if (extra.empty())
      app.exit(e);
    else
      report("troupe: unknown command '{}'; troupe --help lists the commands", extra.front());
    if (json) print_error(extra.empty() ? e.what() : reported_lines());
    return exit_bad_input;
  } catch (const CLI::ParseError& e) {
    if (app.exit(e) == 0) return exit_done;
    if (json) print_error(e.what());
    return exit_bad_input;
  }
  return run(chosen, json);
}
