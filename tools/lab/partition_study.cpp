#include "tools/lab/partition_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "config/text_file.hpp"
#include "policies/common/random.hpp"
#include "policies/placement/partition_search.hpp"

namespace troupe::lab {
namespace {

using real_clock = std::chrono::steady_clock;

double seconds_since(real_clock::time_point start) {
  return std::chrono::duration<double>(real_clock::now() - start).count();
}

}  // namespace

zoo_reading read_zoo_text(const std::string& csv, const std::string& file) {
  constexpr auto header = "model,million_parameters";
  std::istringstream in(csv);
  std::string line;
  if (!std::getline(in, line) || line != header)
    return {{}, fmt::format("{}:1: the first line must be '{}'", file, header)};
  zoo_reading out;
  for (size_t number = 2; std::getline(in, line); ++number) {
    const auto comma = line.find(',');
    double millions = 0;
    const auto* end = line.data() + line.size();
    const auto read = comma == std::string::npos ? std::from_chars_result{end, std::errc::invalid_argument}
                                                 : std::from_chars(line.data() + comma + 1, end, millions);
    if (comma == 0 || read.ec != std::errc{} || read.ptr != end || !(millions > 0) ||
        !std::isfinite(millions))
      return {{},
              fmt::format("{}:{}: must be a model's name, a comma and millions of parameters", file, number)};
    out.models.push_back({line.substr(0, comma), millions * 1e6 * sizeof(float)});
  }
  if (out.models.empty()) out.problem = fmt::format("{}:1: has no model", file);
  return out;
}

zoo_reading read_zoo(const std::filesystem::path& file) {
  const auto text = read_text_file(file);
  if (!text.error.empty()) return {{}, fmt::format("{}: {}", file.string(), text.error)};
  return read_zoo_text(text.content, file.string());
}

partition_problem study_problem(const std::vector<zoo_model>& zoo, const partition_study_options& o,
                                uint32_t configuration) {
  random_stream random(o.seed, "partition study", configuration);
  partition_problem p;
  for (uint32_t i = 0; i < o.models; ++i) {
    const auto& of = zoo[random.below(zoo.size())];
    p.models.push_back({fmt::format("{}-{}", of.name, i), -std::log(1 - random.uniform()), of.parameter_bytes,
                        o.dynamic_bytes});
  }
  p.parts.resize(o.parts);
  for (auto& part : p.parts) part.max_bytes = o.device_bytes;
  return p;
}

timed_partition partition_once(const std::vector<zoo_model>& zoo, const partition_study_options& o,
                               uint32_t configuration, method m) {
  const auto p = study_problem(zoo, o, configuration);
  const auto start = real_clock::now();
  search_budget budget{m == method::search ? o.steps : o.random_tries, {}};
  if (m == method::random && o.random_seconds > 0)
    budget = {std::numeric_limits<uint64_t>::max(), [&] { return seconds_since(start) >= o.random_seconds; }};
  timed_partition out;
  const auto seed = o.seed + configuration;
  out.found = m == method::search ? search_partition(p, seed, budget) : random_partition(p, seed, budget);
  out.seconds = seconds_since(start);
  if (!out.found.problem.empty())
    throw std::runtime_error(fmt::format("configuration {}: {}", configuration, out.found.problem));
  return out;
}

std::vector<partition_comparison> study_partitions(const std::vector<zoo_model>& zoo,
                                                   const partition_study_options& o) {
  std::vector<partition_comparison> out;
  for (uint32_t i = 0; i < o.configurations; ++i) {
    auto ours = partition_once(zoo, o, i, method::search), random = partition_once(zoo, o, i, method::random);
    out.push_back({std::move(ours.found), std::move(random.found), ours.seconds, random.seconds});
  }
  return out;
}

std::vector<double> imbalances(const std::vector<partition_comparison>& study, method m, imbalance of) {
  std::vector<double> out;
  for (const auto& c : study) {
    const auto& q = (m == method::search ? c.searched : c.random).quality;
    out.push_back(of == imbalance::rate ? q.rate_imbalance : q.memory_imbalance);
  }
  return out;
}

imbalance_summary summary(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto n = values.size();
  return {values.front(), (values[(n - 1) / 2] + values[n / 2]) / 2, values.back()};
}

std::string to_csv(const std::vector<partition_comparison>& study) {
  std::string out = "configuration,method,rate_imbalance,memory_imbalance,objective,steps,seconds\n";
  for (size_t i = 0; i < study.size(); ++i) {
    const auto& c = study[i];
    const auto add = [&](const char* name, const partition_result& r, double seconds) {
      const auto& q = r.quality;
      out += fmt::format("{},{},{:.6g},{:.6g},{:.6g},{},{:.3f}\n", i, name, q.rate_imbalance,
                         q.memory_imbalance, q.objective, r.steps, seconds);
    };
    add("search", c.searched, c.search_seconds);
    add("random", c.random, c.random_seconds);
  }
  return out;
}

}  // namespace troupe::lab
