// The laboratory's subcommands: goodput, experiment, plan.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "tools/commands/command_line.hpp"
#include "tools/commands/experiment.hpp"
#include "tools/commands/goodput.hpp"
#include "tools/commands/plan_multicast.hpp"

namespace troupe {
namespace {

constexpr uint64_t max_jobs = 4096;

void add_goodput(CLI::App& app, cli_job& chosen) {
  auto o = std::make_shared<goodput_options>();
  auto* sub =
      add_subcommand(app, "goodput", "Search for the highest rate that a scheduler serves, in virtual time",
                     "troupe goodput examples/experiments/table2-resnet50.toml --policy deferred --seeds 8");
  sub->add_option("scenario", o->file, "Scenario file")->required();
  sub->add_option("--policy", o->policy,
                  "deferred, eager, timeout(K), clockwork, clockwork(any), nexus or shepherd")
      ->capture_default_str();
  sub->add_option("--batching", o->batching, "Batching policy, instead of that of --policy");
  sub->add_option("--shedding", o->shedding, "Shedding policy, instead of that of --policy");
  sub->add_option("--matchmaking", o->matchmaking, "Matchmaking policy, instead of that of --policy");
  sub->add_option("--engine", o->engine, "direct: the policies alone; actors: the whole cluster, simulated")
      ->check(CLI::IsMember({"direct", "actors"}))
      ->capture_default_str();
  sub->add_option("--criterion", o->criterion, "Bad rate to limit: of the worst model, or the average")
      ->check(CLI::IsMember({"worst", "average"}));
  sub->add_option("--bad", o->max_bad, "Largest bad rate, as a fraction of the requests")
      ->check(finite_in(0, 0.5));
  sub->add_option("--seeds", o->seeds, "Number of seeds")->check(CLI::Range(1, 10'000));
  sub->add_option("--first-seed", o->first_seed, "First seed; the others follow it")
      ->check(whole_in(0, INT64_MAX / 2));
  auto* duration = sub->add_option("--duration", o->duration_s, "Approximate measured seconds of a run")
                       ->check(finite_in(0.1, 1e6));
  sub->add_option("--requests", o->requests, "Measured requests of a run")
      ->check(CLI::Range(100, 1'000'000'000))
      ->excludes(duration);
  sub->add_option("--precision", o->precision, "Precision of the rate, as a fraction")
      ->check(finite_in(1e-5, 0.5));
  sub->add_option("--rate", o->rate, "Run this many requests per second, instead of searching")
      ->check(finite_in(min_rate, max_rate));
  sub->add_option("--jobs", o->jobs, "Concurrent runs; default: one per core")->check(whole_in(0, max_jobs));
  sub->add_flag("--json", o->json, "Print one JSON document");
  sub->callback([o, &chosen] { chosen = [o] { return goodput(*o); }; });
}

void add_experiment(CLI::App& app, cli_job& chosen) {
  auto o = std::make_shared<experiment_options>();
  auto* sub = add_subcommand(app, "experiment",
                             "Reproduce the measurements of papers and docs, from experiment files",
                             "troupe experiment run figure6a");
  sub->require_subcommand(1);
  const auto folder = [o](CLI::App& to) {
    to.add_option("--folder", o->folder, "Folder of the experiments; default: examples/experiments");
    to.add_flag("--json", o->json, "Print one JSON document");
  };
  const auto names = [o](CLI::App& to) {
    to.add_option("name", o->names, "Names of experiments, or files");
    to.add_flag("--all", o->all, "All experiments of the folder");
    to.add_option("--output", o->output, "Folder of the results")->capture_default_str();
  };

  auto* list = add_subcommand(*sub, "list", "List the experiments", "troupe experiment list");
  folder(*list);
  list->callback([o, &chosen] { chosen = [o] { return list_experiments(*o); }; });

  auto* run =
      add_subcommand(*sub, "run", "Run experiments: write CSV, JSON and a plot, and check the paper's claims",
                     "troupe experiment run table2 figure6a --output results");
  folder(*run);
  names(*run);
  auto* quick = run->add_flag("--quick", o->quick,
                              "Fewer points, requests and seeds, for the trend of the results only");
  run->add_flag("--full", o->full, "Run all workloads, also of experiments that sample them")
      ->excludes(quick);
  run->add_option("--engine", o->engine, "direct: the policies alone; actors: the whole cluster, simulated")
      ->check(CLI::IsMember({"direct", "actors"}))
      ->capture_default_str();
  run->add_option("--requests", o->requests, "Measured requests of a run")
      ->check(CLI::Range(100, 1'000'000'000));
  run->add_option("--seeds", o->seeds, "Seeds per point")->check(CLI::Range(1, 10'000));
  run->add_option("--jobs", o->jobs, "Concurrent runs; default: one per core")->check(whole_in(0, max_jobs));
  run->add_flag("--no-plot", o->no_plot, "Do not draw plots");
  run->callback([o, &chosen] { chosen = [o] { return run_experiments(*o); }; });

  auto* plot = add_subcommand(*sub, "plot", "Redraw the plots of results",
                              "troupe experiment plot table2 --output results");
  folder(*plot);
  names(*plot);
  plot->callback([o, &chosen] { chosen = [o] { return plot_experiments(*o); }; });
}

void add_plan(CLI::App& app, cli_job& chosen) {
  struct arguments {
    std::string file;
    bool json = false;
  };
  auto a = std::make_shared<arguments>();
  auto* plan =
      add_subcommand(app, "plan", "Compute plans without a cluster", "troupe plan multicast network.json");
  plan->require_subcommand(1);
  auto* multicast =
      add_subcommand(*plan, "multicast", "Plan the chains by which weights reach the targets of a scale-out",
                     "troupe plan multicast network.json");
  multicast->add_option("file", a->file, "JSON file: sources, targets and the rates between them")
      ->required();
  multicast->add_flag("--json", a->json, "Print one JSON document");
  multicast->callback([a, &chosen] { chosen = [a] { return plan_multicast_file(a->file, a->json); }; });
}

}  // namespace

void add_lab_commands(CLI::App& app, cli_job& chosen) {
  add_goodput(app, chosen);
  add_experiment(app, chosen);
  add_plan(app, chosen);
}

}  // namespace troupe
