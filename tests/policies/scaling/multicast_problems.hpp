// Multicast problems for tests, written with names.
#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policies/scaling/multicast_plan.hpp"
#include "policies/workload/random_multicast.hpp"

namespace troupe {

/// A multicast of 14 GB in 32 chunks, written with names.
struct named_multicast {
  named_multicast(std::vector<std::string> sources, std::vector<std::string> targets) {
    problem.bytes = 14e9;
    problem.chunks = 32;
    problem.sources = static_cast<uint32_t>(sources.size());
    for (auto* names : {&sources, &targets})
      for (auto& name : *names) problem.nodes.push_back({std::move(name), false, false, no_scale_up_domain});
    problem.gbit_per_s.assign(problem.nodes.size() * problem.nodes.size(), 0);
  }
  uint32_t at(const std::string& name) const {
    const auto found = std::find_if(problem.nodes.begin(), problem.nodes.end(),
                                    [&](const multicast_node& n) { return n.name == name; });
    return static_cast<uint32_t>(found - problem.nodes.begin());
  }
  named_multicast& link(const std::string& from, const std::string& to, double gbit_per_s) {
    problem.gbit_per_s[at(from) * problem.nodes.size() + at(to)] = gbit_per_s;
    return *this;
  }
  /// All links between these nodes, or between all.
  named_multicast& mesh(double gbit_per_s, const std::vector<std::string>& among = {}) {
    for (const auto& a : problem.nodes)
      for (const auto& b : problem.nodes) {
        const auto in = [&](const std::string& n) {
          return among.empty() || std::find(among.begin(), among.end(), n) != among.end();
        };
        if (a.name != b.name && in(a.name) && in(b.name)) link(a.name, b.name, gbit_per_s);
      }
    return *this;
  }
  named_multicast& domain(uint32_t which, const std::vector<std::string>& members) {
    for (const auto& m : members) problem.nodes[at(m)].domain = which;
    return *this;
  }
  multicast_plan plan() const { return plan_multicast(problem); }
  /// Chains and groups as names.
  std::vector<std::vector<std::string>> chains(const multicast_plan& p) const {
    std::vector<std::vector<std::string>> out;
    for (const auto& c : p.chains) {
      out.push_back({problem.nodes[c.source].name});
      for (const auto t : c.targets) out.back().push_back(problem.nodes[t].name);
    }
    return out;
  }
  std::map<std::string, std::set<std::string>> groups(const multicast_plan& p) const {
    std::map<std::string, std::set<std::string>> out;
    for (const auto& g : p.groups)
      for (const auto f : g.followers) out[problem.nodes[g.leader].name].insert(problem.nodes[f].name);
    return out;
  }
  double finish_s(const multicast_plan& p, const std::string& name) const {
    return std::chrono::duration<double>(p.finish[at(name)]).count();
  }

  multicast_problem problem;
};

}  // namespace troupe
