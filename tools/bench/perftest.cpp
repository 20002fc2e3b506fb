#include "tools/bench/perftest.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tools/bench/child_process.hpp"

namespace troupe {
namespace {

/// The median time of an operation in microseconds, from the line of numbers that `ucx_perftest -f -v`
/// prints: iterations, median latency, average latency, ...
std::optional<double> median_of(const std::string& output) {
  std::istringstream lines(output);
  std::optional<double> out;
  for (std::string line; std::getline(lines, line);) {
    double iterations, p50, average;
    if (std::sscanf(line.c_str(), " %lf,%lf,%lf,", &iterations, &p50, &average) == 3) out = p50;
  }
  return out;
}

/// A server of ucx_perftest, and the words that start a client of it.
struct perftest_pair {
  explicit perftest_pair(const perftest_run& r)
      : words{"ucx_perftest",
              "-t",
              r.test,
              "-s",
              std::to_string(r.bytes),
              "-n",
              std::to_string(r.rounds),
              "-e",
              "-f",
              "-v",
              "-p",
              std::to_string(free_port()),
              "-O",
              std::to_string(r.outstanding)},
        server(std::make_unique<child_process>(words, true)) {
    words.insert(words.begin() + 1, "127.0.0.1");
  }
  std::vector<std::string> words;
  std::unique_ptr<child_process> server;
};

}  // namespace

void pin_to_cpu(int which) {
  static const cpu_set_t allowed = [] {
    cpu_set_t set;
    ::sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  if (CPU_COUNT(&allowed) <= which) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || which-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

double perftest(const perftest_run& run) {
  pin_to_cpu(1);
  const perftest_pair pair(run);
  pin_to_cpu(0);
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until the server listens
    if (const auto result = median_of(child_process(pair.words, true).read_all())) return *result;
  }
  throw std::runtime_error(fmt::format("ucx_perftest -t {} gave no figures", run.test));
}

std::vector<double> perftests_at_once(const perftest_run& run, int pairs) {
  std::vector<perftest_pair> all;
  for (int i = 0; i < pairs; ++i) {
    pin_to_cpu(i % 2);
    all.emplace_back(run);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // until the servers listen
  std::vector<std::unique_ptr<child_process>> clients;
  for (int i = 0; i < pairs; ++i) {
    pin_to_cpu((i + 1) % 2);
    clients.push_back(std::make_unique<child_process>(all[static_cast<size_t>(i)].words, true));
  }
  std::vector<double> out;
  for (const auto& c : clients) {
    const auto result = median_of(c->read_all());
    if (!result) throw std::runtime_error(fmt::format("ucx_perftest -t {} gave no figures", run.test));
    out.push_back(*result);
  }
  return out;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace troupe
