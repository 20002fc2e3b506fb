#include "tools/lab/scheduler_bench.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace troupe::lab {

namespace {

/// The first `cores` cores of this process, in taskset's format.
std::string core_list(uint32_t cores) {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0)
    throw std::runtime_error("the cores of this process are unknown");
  std::string out;
  uint32_t n = 0;
  for (size_t i = 0; i < CPU_SETSIZE && n < cores; ++i) {
    if (!CPU_ISSET(i, &set)) continue;
    out += fmt::format("{}{}", n > 0 ? "," : "", i);
    ++n;
  }
  if (n < cores) throw std::runtime_error(fmt::format("{} cores are needed; this process has {}", cores, n));
  return out;
}

std::string output_of(const std::string& command) {
  struct closer {
    void operator()(std::FILE* f) const { ::pclose(f); }
  };
  const std::unique_ptr<std::FILE, closer> pipe{::popen(command.c_str(), "r")};
  if (!pipe) throw std::runtime_error("cannot be run: " + command);
  std::string out;
  char piece[4096];
  for (size_t n; (n = std::fread(piece, 1, sizeof piece, pipe.get())) > 0;) out.append(piece, n);
  return out;
}

}  // namespace

sample measure_scheduler(const scenario& s, const scheduling& how) {
  const auto models = served_models(s);
  const auto& m = models.front();
  const auto program = std::filesystem::read_symlink("/proc/self/exe").string();
  auto command = fmt::format(
      "'{}' bench schedule --models {} --gpus {} --domains {} --slo-ms {} --alpha-ms {} --beta-ms {} "
      "--batching '{}' --json",
      program, models.size(), s.gpu_count(), s.domains, to_ms(m.slo), to_ms(m.latency.alpha),
      to_ms(m.latency.beta), how.batching);
  if (s.cores > 0) command = fmt::format("taskset --cpu-list {} {}", core_list(s.cores), command);
  const auto document = nlohmann::json::parse(output_of(command), nullptr, false);
  if (!document.is_object() || !document.contains("requests_per_s"))
    throw std::runtime_error("no answer from " + command);
  sample out;
  out.value = document["requests_per_s"];
  // On a machine that stalls no rate may be served well: the document then has only the first field, and it
  // is 0.
  out.metrics["per_cpu_second"] = document.value("requests_per_cpu_s", 0.0);
  out.metrics["bad_rate"] = document.value("bad_rate", 1.0);
  out.metrics["mean_batch"] = document.value("mean_batch", 0.0);
  return out;
}

}  // namespace troupe::lab
