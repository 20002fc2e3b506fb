#include <fmt/format.h>

#include <map>

#include "config/sections.hpp"

namespace troupe {

domain_reading read_domains(section& root) {
  domain_reading out{{}, root.tables("domain")};
  std::map<std::string, uint32_t> lines;
  for (auto* s : out.sections) {
    domain_spec d;
    d.name = s->name("name");
    d.max_rate_rps = s->number("max_rate_rps", "requests a second", 0, 1e9, 0);
    if (!d.name.empty()) {
      const auto [first, fresh] = lines.emplace(d.name, s->at("name").line);
      if (!fresh)
        s->refuse("name", fmt::format("domain '{}' is already defined in line {}; choose another name",
                                      d.name, first->second));
    }
    out.domains.push_back(std::move(d));
  }
  return out;
}

uint32_t read_domain_of(section& s, const std::vector<domain_spec>& domains) {
  if (domains.empty()) {
    s.unused("domain", "this file has no [[domain]]; add one for each sub-cluster, or remove this key");
    return 0;
  }
  std::vector<std::string_view> names;
  for (const auto& d : domains) names.push_back(d.name);
  return static_cast<uint32_t>(s.choice("domain", names).value_or(0));
}

placer_spec read_placer(section& root, const std::vector<domain_spec>& domains) {
  auto& s = root.table_or_empty("placer");
  placer_spec p;
  p.epoch = s.seconds("epoch_s", 0, 86'400, 0);
  p.max_moves = static_cast<uint32_t>(s.integer("max_moves", 1, 65536, p.max_moves));
  p.min_gain = s.number("min_gain", "a fraction", 0, 100, p.min_gain);
  p.memory_weight = s.number("memory_weight", "a number", 0, 1000, p.memory_weight);
  p.steps = static_cast<uint64_t>(s.integer("steps", 1, 1'000'000'000, static_cast<int64_t>(p.steps)));
  if (p.epoch > duration{} && domains.size() < 2)
    s.refuse("epoch_s", "a placer needs domains; add a [[domain]] for each sub-cluster, or remove this key");
  return p;
}

void check_domains(const domain_reading& read, const std::vector<node_spec>& nodes) {
  for (uint32_t d = 0; d < read.domains.size(); ++d) {
    bool used = false, unclear = read.domains[d].name.empty();
    for (const auto& n : nodes) {
      used = used || (n.has(node_role::worker) && n.domain == d);
      unclear = unclear || n.roles.empty();
    }
    if (!used && !unclear)
      read.sections[d]->refuse(
          "name", fmt::format("no worker belongs to domain '{0}'; give a node domain = \"{0}\", or remove it",
                              read.domains[d].name));
  }
}

}  // namespace troupe
