#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

namespace {

struct finished {
  int exit_code;
  std::string output;
};

/// Runs `troupe simulate` on the quickstart cluster with this workload; returns standard output, or errors if
/// requested.
finished simulate(const std::string& workload, const std::string& flags, bool errors = false) {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("troupe_simulate_{}.toml", getpid());
  std::ofstream(file) << workload;
  const auto command =
      fmt::format("{} simulate {}/quickstart/cluster.toml --workload {} {} {}", TROUPE_PROGRAM,
                  TROUPE_EXAMPLES, file.string(), flags, errors ? "2>&1 >/dev/null" : "2>/dev/null");
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string output;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) output += static_cast<char>(c);
  const int status = pclose(pipe);
  std::filesystem::remove(file);
  return {WEXITSTATUS(status), output};
}

std::string workload(const std::string& head) {
  std::string out = head;
  for (const auto* name : {"mlp", "resnet_a", "encoder"})
    out += fmt::format("[[model]]\nname = \"{}\"\nrate_rps = 50\nalpha_ms = 0.5\nbeta_ms = 1\n", name);
  return out;
}

}  // namespace

TEST_CASE("simulate prints one JSON document with the metrics of every model") {
  const auto r = simulate(workload("duration_s = 4\nwarmup_s = 1\n"), "--seed 5 --json");
  CHECK(r.exit_code == 0);
  const auto document = nlohmann::json::parse(r.output);
  CHECK(document["models"].size() == 3);
  for (const auto& [name, m] : document["models"].items()) {
    CAPTURE(name);
    const double offered = m["offered"], finished = m["finished"], dropped = m["dropped"],
                 failed = m["failed"];
    CHECK(offered > 100);
    CHECK(offered == finished + dropped + failed);
    CHECK(m["goodput_rps"].get<double>() == doctest::Approx(finished / 3));
    CHECK(m["p50_ms"].get<double>() > 1.5);
    CHECK(m["p50_ms"] <= m["p99_ms"]);
    CHECK(m["mean_batch"].get<double>() >= 1);
    CHECK(m["gpu_busy"].get<double>() > 0);
    CHECK(m["gpu_busy"].get<double>() < 1);
  }
  CHECK(document["ledger_balanced"] == true);
  CHECK(document["trace_hash"].get<std::string>().size() == 16);
}

TEST_CASE("simulate repeats itself for a seed, and not for another") {
  const auto load = workload("duration_s = 1\n[faults]\nrandom = { count = 2 }\n");
  const auto once = simulate(load, "--seed 5 --json").output;
  CHECK(once == simulate(load, "--seed 5 --json").output);
  CHECK(once != simulate(load, "--seed 6 --json").output);
}

TEST_CASE("simulate refuses models without a profile, and names them") {
  const auto r = simulate("duration_s = 1\nrate_rps = 10\n", "", true);
  CHECK(r.exit_code == 2);
  CHECK(r.output.find("model 'resnet_a': its profile is measured") != std::string::npos);
}

TEST_CASE("simulate refuses a bad workload with its place") {
  const auto r = simulate("duration_s = 0\nrate_rps = 10\n", "", true);
  CHECK(r.exit_code == 2);
  CHECK(r.output.find(":1:14: duration_s") != std::string::npos);
}
