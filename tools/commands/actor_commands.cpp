// The flags of the commands on a running cluster's actors.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>

#include "messages/common/commands.hpp"
#include "tools/commands/ask_actor.hpp"
#include "tools/commands/cluster_trace.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/list_actors.hpp"
#include "tools/commands/scale.hpp"
#include "tools/commands/top.hpp"
#include "tools/commands/why.hpp"
#include "tools/commands/why_scaling.hpp"

namespace troupe {
namespace {

void add_actors(CLI::App& app, cli_job& chosen) {
  struct arguments {
    std::string file;
    list_actors_options list;
    double interval_s = 0.5;
    bool kinds = false;
  };
  auto a = std::make_shared<arguments>();
  auto* sub = add_subcommand(app, "actors",
                             "List the actors of a running cluster: state, mailboxes, messages per second",
                             "troupe actors examples/quickstart/cluster.toml\n  troupe actors --kinds");
  auto* file = sub->add_option("file", a->file, "Cluster file");
  auto* node = sub->add_option("--node", a->list.node, "List only the actors of this node");
  auto* interval = sub->add_option("--interval", a->interval_s, "Seconds of the message count")
                       ->check(finite_in(0.01, 3600))
                       ->capture_default_str();
  auto* watch = sub->add_flag("--watch", a->list.watch, "Repeat until q or Ctrl-C");
  auto* kinds = sub->add_flag("--kinds", a->kinds, "Print the kinds of actors; needs no cluster");
  for (auto* o : {file, node, interval, watch}) kinds->excludes(o);
  sub->add_flag("--json", a->list.json, "Print one JSON document (with --watch: one per line)");
  sub->callback([a, &chosen] {
    if (!a->kinds && a->file.empty()) throw CLI::RequiredError("file");
    chosen = [a] {
      if (a->kinds) return print_actor_kinds(a->list.json);
      a->list.interval = from_ms(a->interval_s * 1000);
      return with_cluster(a->file, [&](const cluster_spec& c) { return list_actors(c, a->list); });
    };
  });
}

void add_ask(CLI::App& app, cli_job& chosen, bool wait) {
  struct arguments {
    std::string file;
    ask_options ask;
    bool schema = false;
  };
  auto a = std::make_shared<arguments>();
  a->ask.wait = wait;
  auto* sub =
      wait ? add_subcommand(
                 app, "ask", "Send a command to an actor of a running cluster and print its answer",
                 "troupe ask examples/quickstart/cluster.toml model_queue/mlp@head set_slo '{\"slo\": "
                 "40000000}'\n  troupe ask examples/quickstart/cluster.toml model_queue/mlp get_state --wait "
                 "'queued_requests == 0' 30\n  troupe ask --schema model_queue")
           : add_subcommand(
                 app, "tell", "Send a command to an actor of a running cluster and do not wait for it",
                 "troupe tell examples/quickstart/cluster.toml model_queue/mlp@head pause_batching");
  sub->add_option("file", a->file,
                  wait ? "Cluster file; with --schema optional, or a kind of actor" : "Cluster file");
  sub->add_option("actor", a->ask.actor, "KIND/INDEX@NODE, as `troupe actors` lists them");
  sub->add_option("type", a->ask.type, "Command, or command and fields: '{\"TYPE\": {fields}}'");
  sub->add_option("fields", a->ask.fields, "Fields of the command, a JSON object");
  sub->add_option("--via", a->ask.via, "Connect to this node; default: the first that answers");
  sub->add_flag("--json", a->ask.json, "Print one JSON document, on one line");
  if (wait)
    sub->add_option("--wait", a->ask.until,
                    "Repeat until FIELD OP VALUE holds in the answer, at most SECONDS (60)")
        ->expected(1, 2)
        ->type_name("CONDITION [SECONDS]");
  if (wait) sub->add_flag("--schema", a->schema, "Print the commands of all actors, or of one kind");
  sub->callback([a, &chosen] {
    if (!a->schema && (a->file.empty() || a->ask.actor.empty() || a->ask.type.empty()))
      throw CLI::RequiredError("each of file, actor and type");
    chosen = [a] {
      if (a->schema && a->ask.actor.empty()) return print_schema(a->file, a->ask.json);
      if (a->schema)
        return with_cluster(
            a->file, [&](const cluster_spec& c) { return print_schema(c, a->ask.actor, a->ask.json); });
      return with_cluster(a->file, [&](const cluster_spec& c) { return ask_actor(c, a->ask); });
    };
  });
}

void add_top(CLI::App& app, cli_job& chosen) {
  struct arguments {
    std::string file;
    top_options top;
    double interval_s = 1;
  };
  auto a = std::make_shared<arguments>();
  auto* sub =
      add_subcommand(app, "top", "Watch a running cluster: rates, latencies, queues and slots, every second",
                     "troupe top examples/quickstart/cluster.toml");
  sub->add_option("file", a->file, "Cluster file")->required();
  sub->add_option("--interval", a->interval_s, "Seconds between pages")
      ->check(finite_in(0.05, 3600))
      ->capture_default_str();
  sub->add_flag("--once", a->top.once, "Print one page; the default if standard output is not a terminal");
  sub->add_flag("--json", a->top.json, "Print one JSON document per page");
  sub->callback([a, &chosen] {
    chosen = [a] {
      a->top.interval = from_ms(a->interval_s * 1000);
      return with_cluster(a->file, [&](const cluster_spec& c) { return top(c, a->top); });
    };
  });
}

void add_trace(CLI::App& app, cli_job& chosen) {
  struct arguments {
    std::string file;
    cluster_trace_options trace;
    double seconds = 5;
  };
  auto a = std::make_shared<arguments>();
  auto* sub = add_subcommand(app, "trace", "Record the stages of requests and batches, for ui.perfetto.dev",
                             "troupe trace examples/quickstart/cluster.toml --seconds 5 -o trace.json");
  sub->add_option("file", a->file, "Cluster file")->required();
  sub->add_option("--seconds", a->seconds, "Longest duration, in seconds")
      ->check(finite_in(0.001, 86'400))
      ->capture_default_str();
  sub->add_option("--requests", a->trace.requests, "Stop after this many requests")
      ->check(whole_in(1, INT64_MAX));
  sub->add_option("--sample", a->trace.sample, "Record one of this many requests")
      ->check(whole_in(1, UINT32_MAX))
      ->capture_default_str();
  sub->add_option("-o,--output", a->trace.file, "Output file")->capture_default_str();
  sub->add_flag("--json", a->trace.json, "Print a summary as one JSON document");
  sub->callback([a, &chosen] {
    chosen = [a] {
      a->trace.length = from_ms(a->seconds * 1000);
      return with_cluster(a->file, [&](const cluster_spec& c) { return cluster_trace(c, a->trace); });
    };
  });
}

void add_why(CLI::App& app, cli_job& chosen) {
  struct arguments {
    std::string file;
    why_options why;
    uint32_t scale = 0;
  };
  auto a = std::make_shared<arguments>();
  auto* sub = add_subcommand(app, "why",
                             "Explain the decisions about a request, or on numbers of instances (--scale)",
                             "troupe why examples/quickstart/cluster.toml 281479271677953");
  sub->add_option("file", a->file, "Cluster file")->required();
  auto* what = sub->add_option_group("what");
  what->add_option("request", a->why.request, "Request id: the header Troupe-Request-Id of the response");
  what->add_option("--scale", a->scale, "Instead: the latest N decisions on numbers of instances")
      ->check(whole_in(1, longest_list));
  what->require_option(1);
  sub->add_option("--model", a->why.model, "Only of this model");
  sub->add_flag("--json", a->why.json, "Print one JSON document");
  sub->callback([a, &chosen] {
    chosen = [a] {
      return with_cluster(a->file, [&](const cluster_spec& c) {
        return a->scale > 0 ? why_scaling(c, {a->scale, a->why.model, a->why.json}) : why(c, a->why);
      });
    };
  });
}

void add_scale(CLI::App& app, cli_job& chosen) {
  struct arguments {
    std::string file;
    scale_options how;
    std::optional<uint32_t> decode;
  };
  auto a = std::make_shared<arguments>();
  auto* sub =
      add_subcommand(app, "scale",
                     "Give a language model more or fewer instances; weights come over the network from "
                     "nodes that have them",
                     "troupe scale examples/scaling/cluster.toml tasks --instances 3");
  sub->add_option("file", a->file, "Cluster file")->required();
  sub->add_option("model", a->how.model, "Name of an [[llm]] that scales")->required();
  auto* number = sub->add_option_group("number");
  auto* all = number->add_option("--instances", a->how.instances, "Number of instances");
  auto* prefill = number->add_option("--prefill", a->how.prefill,
                                     "Number of instances that prefill, of a model that is disaggregated");
  auto* decode = number->add_option("--decode", a->decode, "Number of those that decode");
  for (auto* o : {all, prefill, decode}) o->check(whole_in(0, 1 << 20));
  prefill->needs(decode)->excludes(all);
  decode->needs(prefill)->excludes(all);
  number->require_option(1, 2);
  sub->add_flag("--dry-run", a->how.dry_run,
                "Only print the chains, and when each instance would have its weights");
  sub->add_option("--wait", a->how.wait_s, "Seconds to wait until all instances serve; 0: none")
      ->check(finite_in(0, 86'400))
      ->capture_default_str();
  sub->add_flag("--json", a->how.json, "Print one JSON document");
  sub->callback([a, &chosen] {
    chosen = [a] {
      if (a->decode) a->how.instances = a->how.prefill + *a->decode;
      return with_cluster(a->file, [&](const cluster_spec& c) { return scale_instances(c, a->how); });
    };
  });
}

void add_parameters(CLI::App& app, cli_job& chosen) {
  struct arguments {
    std::string file, model;
    bool json = false;
  };
  auto a = std::make_shared<arguments>();
  auto* sub = add_subcommand(
      app, "parameters", "List the instances of language models that scale, and the copies of their weights",
      "troupe parameters examples/scaling/cluster.toml tasks");
  sub->add_option("file", a->file, "Cluster file")->required();
  sub->add_option("model", a->model, "Only this [[llm]]");
  sub->add_flag("--json", a->json, "Print one JSON document");
  sub->callback([a, &chosen] {
    chosen = [a] {
      return with_cluster(a->file,
                          [&](const cluster_spec& c) { return list_parameters(c, a->model, a->json); });
    };
  });
}

}  // namespace

void add_actor_commands(CLI::App& app, cli_job& chosen) {
  add_actors(app, chosen);
  add_ask(app, chosen, true);
  add_ask(app, chosen, false);
  add_top(app, chosen);
  add_trace(app, chosen);
  add_why(app, chosen);
  add_scale(app, chosen);
  add_parameters(app, chosen);
}

}  // namespace troupe
