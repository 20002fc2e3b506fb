#include "policies/placement/partition.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace troupe {
namespace {

std::string number(double x) {
  const char* units[] = {"", "k", "M", "G", "T", "P"};
  size_t unit = 0;
  while (std::abs(x) >= 9999.5 && unit < 5) {
    x /= 1000;
    ++unit;
  }
  auto text = std::to_string(x);
  text.resize(std::max(text.find('.') + 2, size_t{3}));
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text + (unit > 0 ? std::string(" ") + units[unit] : "");
}

std::string part_name(const partition_problem& p, size_t part) {
  const auto& name = p.parts[part].name;
  return "sub-cluster " + (name.empty() ? std::to_string(part) : "'" + name + "'");
}

bool is_amount(double x) { return x >= 0 && std::isfinite(x); }

void require(bool so, const char* what) {
  if (!so) throw std::invalid_argument(std::string("partition: ") + what);
}

void check_form(const partition_problem& p) {
  require(!p.parts.empty(), "there must be a sub-cluster");
  require(p.current.empty() || p.current.size() == p.models.size(),
          "current must have an entry for each model");
  require(p.move_costs.empty() || p.move_costs.size() == p.models.size() * p.parts.size(),
          "move_costs must have an entry for each model and sub-cluster");
  for (const auto part : p.current)
    require(part == no_part || part < p.parts.size(), "current names an unknown sub-cluster");
  for (const auto& m : p.models)
    require(is_amount(m.rate) && is_amount(m.static_bytes) && is_amount(m.dynamic_bytes),
            "rates and memory must be 0 or more");
  for (const auto& part : p.parts)
    require(part.size > 0 && std::isfinite(part.size) && part.max_rate >= 0 && part.max_bytes >= 0,
            "sizes must be above 0 and limits 0 or more");
  for (const auto cost : p.move_costs) require(is_amount(cost), "costs must be 0 or more");
  require(is_amount(p.memory_weight) && p.max_cost >= 0, "the weight and the largest cost must be 0 or more");
}

}  // namespace

fair_shares::fair_shares(const partition_problem& p) {
  double rate = 0, sizes = 0;
  for (const auto& m : p.models) {
    rate += m.rate;
    bytes += m.static_bytes;
  }
  for (const auto& part : p.parts) sizes += part.size;
  for (const auto& part : p.parts) rates.push_back(rate * part.size / sizes);
  bytes /= static_cast<double>(p.parts.size());
}

partition_quality judge(const partition_problem& p, const std::vector<uint32_t>& assignment) {
  require(assignment.size() == p.models.size(), "an assignment must have an entry for each model");
  const fair_shares fair(p);
  std::vector<double> rates(p.parts.size()), bytes(p.parts.size()), dynamic(p.parts.size());
  partition_quality q;
  for (size_t i = 0; i < p.models.size(); ++i) {
    const auto part = assignment[i];
    require(part < p.parts.size(), "an assignment names an unknown sub-cluster");
    rates[part] += p.models[i].rate;
    bytes[part] += p.models[i].static_bytes;
    dynamic[part] = std::max(dynamic[part], p.models[i].dynamic_bytes);
    q.cost += p.cost_of_change(i, part);
  }
  const auto limit = [&](double value, double max, const auto& say) {
    const auto excess = excess_of(value, max);
    q.excess += excess;
    if (excess > 0 && q.broken.empty()) q.broken = say();
  };
  const auto spread = [](double& low, double& high, double x) {
    low = std::min(low, x);
    high = std::max(high, x);
  };
  double low_rate = 1, high_rate = 1, low_bytes = 1, high_bytes = 1;  // 1 is the average
  for (uint32_t j = 0; j < p.parts.size(); ++j) {
    if (fair.rates[j] > 0) spread(low_rate, high_rate, rates[j] / fair.rates[j]);
    if (fair.bytes > 0) spread(low_bytes, high_bytes, bytes[j] / fair.bytes);
    limit(rates[j], p.parts[j].max_rate, [&] {
      return "the models of " + part_name(p, j) + " receive " + number(rates[j]) +
             " requests a second, it can serve " + number(p.parts[j].max_rate);
    });
    limit(bytes[j] + dynamic[j], p.parts[j].max_bytes, [&] {
      return "the models of " + part_name(p, j) + " need " + number(bytes[j] + dynamic[j]) +
             "B on each device, which has " + number(p.parts[j].max_bytes) + "B";
    });
  }
  limit(q.cost, p.max_cost,
        [&] { return "the changes cost " + number(q.cost) + ", the limit is " + number(p.max_cost); });
  q.rate_deviation = std::max(high_rate - 1, 1 - low_rate);
  q.memory_deviation = std::max(high_bytes - 1, 1 - low_bytes);
  q.objective = q.rate_deviation + p.memory_weight * q.memory_deviation;
  q.rate_imbalance = high_rate - low_rate;
  q.memory_imbalance = high_bytes - low_bytes;
  return q;
}

std::string impossible(const partition_problem& p) {
  check_form(p);
  double rate = 0, bytes = 0, max_rate = 0, max_bytes = 0, largest = 0, fastest = 0;
  for (const auto& part : p.parts) {
    max_rate += part.max_rate;
    max_bytes += part.max_bytes;
    largest = std::max(largest, part.max_bytes);
    fastest = std::max(fastest, part.max_rate);
  }
  for (const auto& m : p.models) {
    rate += m.rate;
    bytes += m.static_bytes;
    if (excess_of(m.static_bytes + m.dynamic_bytes, largest) > 0)
      return "model '" + m.name + "' alone needs " + number(m.static_bytes + m.dynamic_bytes) +
             "B, the largest device has " + number(largest) + "B";
    if (excess_of(m.rate, fastest) > 0)
      return "model '" + m.name + "' alone receives " + number(m.rate) +
             " requests a second, no sub-cluster can serve more than " + number(fastest);
  }
  const auto count =
      p.parts.size() == 1 ? "the sub-cluster" : "the " + std::to_string(p.parts.size()) + " sub-clusters";
  const auto hold = p.parts.size() == 1 ? " holds " : " hold ";
  if (excess_of(bytes, max_bytes) > 0)
    return "the models have " + number(bytes) + "B of parameters, " + count + hold + number(max_bytes) +
           "B; add sub-clusters or undeploy models";
  if (excess_of(rate, max_rate) > 0)
    return "the models receive " + number(rate) + " requests a second, " + count + " can serve " +
           number(max_rate) + "; add sub-clusters";
  return {};
}

}  // namespace troupe
