// Shared parts of the subcommands of `troupe`: each is declared with an example, and its callback chooses the
// job that runs after parsing.
#pragma once
#include <CLI/App.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "messages/cluster/cluster.hpp"
#include "tools/common/one_device.hpp"

namespace troupe {

/// The chosen command; returns the exit code.
using cli_job = std::function<int()>;

CLI::App* add_subcommand(CLI::App& to, const char* name, const char* what, const char* example);

/// For an option that takes a number: finite, and in [min, max]. (CLI11's own ranges accept NaN.)
CLI::Validator finite_in(double min, double max);
/// For one that takes a whole number. (CLI11 reads -1 as 2^64 - 1.)
CLI::Validator whole_in(uint64_t min, uint64_t max);

/// Bounds of options of several commands: requests a second, as in scenario files, and milliseconds.
inline constexpr double min_rate = 1e-3, max_rate = 1e9, hour_ms = 3.6e6;

/// --device, --gpu, --exact, --engine, --bf16, --shape and --constant. `file`: the option that they require,
/// if any.
void add_device(CLI::App& to, device_choice& where, CLI::Option* file = nullptr);

/// Runs `use` with the cluster of a file, or prints its problems and returns 2.
int with_cluster(const std::string& file, const std::function<int(const cluster_spec&)>& use);

/// Commands on a running cluster's actors: actors, ask, tell, top, trace.
void add_actor_commands(CLI::App& app, cli_job& chosen);
/// Measurements: bench ....
void add_bench_commands(CLI::App& app, cli_job& chosen);
/// Clients of a running cluster: load, chat.
void add_client_commands(CLI::App& app, cli_job& chosen);
/// Traces of generation requests: replay, traffic.
void add_trace_commands(CLI::App& app, cli_job& chosen);
/// Models in this process, without a cluster file: serve, infer, profile, generate.
void add_model_commands(CLI::App& app, cli_job& chosen);
/// The laboratory: goodput, experiment, plan.
void add_lab_commands(CLI::App& app, cli_job& chosen);

}  // namespace troupe
