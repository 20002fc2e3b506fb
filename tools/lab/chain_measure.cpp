#include "tools/lab/chain_measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "policies/scaling/multicast_problem.hpp"
#include "tools/lab/measures.hpp"
#include "tools/lab/scaling_run.hpp"

namespace troupe::lab {
namespace {

/// Places after the source, which is place 0.
std::vector<uint32_t> chain_of(const chain_setup& t, std::string_view policy) {
  std::vector<uint32_t> out(t.target_gbit_per_s.size() + 1);
  std::iota(out.begin(), out.end(), 0);
  if (policy == "reversed") std::reverse(out.begin() + 1, out.end());
  return out;
}

/// The places of the leader's plan.
std::vector<uint32_t> planned_chain(const sim::scaling_times& times, size_t places) {
  std::vector<uint32_t> out;
  if (times.chains.size() == 1)
    for (const auto& name : times.chains[0])
      for (uint32_t i = 0; i < places; ++i)
        if (place_name(i) == name) out.push_back(i);
  if (out.size() != places || out.front() != 0)
    throw std::runtime_error("the leader did not plan one chain from the source to all targets");
  return out;
}

}  // namespace

void read_chain(section& root, std::optional<chain_setup>& out) {
  if (!root.has("chain")) return root.unused("chain");
  auto* s = root.table("chain");
  if (s == nullptr) return;
  auto t = out.value_or(chain_setup{});
  t.model_gb = s->number("model_gb", "gigabytes", 0.001, 1e5, t.model_gb);
  t.chunks = static_cast<uint32_t>(s->integer("chunks", 1, 100'000, t.chunks));
  t.window = static_cast<uint32_t>(s->integer("window", 1, 64, t.window));
  t.source_gbit_per_s = s->number("source_gbit_per_s", "Gbit/s", 0.001, 1e5, t.source_gbit_per_s);
  if (s->has("target_gbit_per_s")) {
    const auto problems = s->owner().problem_count();
    t.target_gbit_per_s = s->numbers("target_gbit_per_s", "Gbit/s", 0.001, 1e5);
    if (const auto n = t.target_gbit_per_s.size();
        s->owner().problem_count() == problems && (n == 0 || n > 64))
      s->refuse("target_gbit_per_s", fmt::format("has {} rates; give one for each of 1 to 64 targets", n));
  } else {
    s->unused("target_gbit_per_s");
  }
  out = t;
}

std::vector<double> chain_formula(double bytes, uint32_t chunks, const std::vector<double>& gbit_per_s) {
  std::vector<double> out;
  chain_time time;
  for (size_t i = 1; i < gbit_per_s.size(); ++i)
    out.push_back(time.add_hop(bytes / chunks * 8 / std::min(gbit_per_s[i - 1], gbit_per_s[i]), chunks) /
                  1e9);
  return out;
}

sample measure_chain(const scenario& s, std::string_view policy, uint64_t seed) {
  const auto& t = *s.chain;
  scaling_run r;
  r.bytes = t.model_gb * 1e9;
  r.layers = 1;
  r.chunk_bytes = std::ceil(r.bytes / t.chunks / stored_chunk) * stored_chunk;
  r.window = t.window;
  std::vector<double> rates{t.source_gbit_per_s};
  rates.insert(rates.end(), t.target_gbit_per_s.begin(), t.target_gbit_per_s.end());
  for (const auto rate : rates) r.places.push_back({{}, rate});
  r.to = static_cast<uint32_t>(rates.size());
  if (policy != "planned") r.chain = chain_of(t, policy);
  const auto slowest = std::ranges::min(rates);
  r.length = 5s + from_ms(r.bytes * 8 / slowest / 1e6 * (2 + (t.window + 1.0) * r.to / t.chunks));
  const auto times = run_scaling(r, seed);

  const auto chain = policy == "planned" ? planned_chain(times, rates.size()) : r.chain;
  std::vector<double> on_way;
  for (const auto place : chain) on_way.push_back(rates[place]);
  const auto formula = chain_formula(r.bytes, t.chunks, on_way);
  table hops{"hops", {"hop", "target", "gbit_per_s", "done_s", "formula_s"}, {}};
  double off = 0;
  for (uint32_t h = 1; h < chain.size(); ++h) {
    const auto& done = times.weights[chain[h] + 1];
    if (!done) throw std::runtime_error(fmt::format("target {} did not get all weights", chain[h]));
    off = std::max(off, std::abs(to_seconds(*done) / formula[h - 1] - 1));
    hops.rows.push_back({static_cast<double>(h), static_cast<double>(chain[h]),
                         std::min(on_way[h - 1], on_way[h]), to_seconds(*done), formula[h - 1]});
  }
  sample out;
  out.value = hops.rows.front()[3];
  out.metrics = {{"first_s", hops.rows.front()[3]},
                 {"last_s", hops.rows.back()[3]},
                 {"formula_first_s", formula.front()},
                 {"formula_last_s", formula.back()},
                 {"off", off}};
  out.tables = {std::move(hops)};
  return out;
}

}  // namespace troupe::lab
