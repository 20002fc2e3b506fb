// What the subcommands of `troupe` share: each is declared with an example, and chosen by its callback to run
// after parsing.
#pragma once
#include <CLI/App.hpp>
#include <functional>
#include <string>

#include "messages/cluster.hpp"

namespace troupe {

/// What was asked for; returns the exit code.
using job = std::function<int()>;

CLI::App* command(CLI::App& to, const char* name, const char* what, const char* example);

/// Runs `use` with the cluster of a file, or prints its problems and returns 2.
int with_cluster(const std::string& file, const std::function<int(const cluster_spec&)>& use);

/// Commands on a running cluster's actors: actors, ask, tell, top, trace.
void add_actor_commands(CLI::App& app, job& chosen);
/// Measurements: bench ....
void add_bench_commands(CLI::App& app, job& chosen);
/// The laboratory: goodput, experiment.
void add_lab_commands(CLI::App& app, job& chosen);

}  // namespace troupe
