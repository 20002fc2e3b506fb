// [[link]]: the networks, buses and disks of nodes; [links]: their emulation.
#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/sections.hpp"

namespace troupe {
namespace {

constexpr double min_link_rate = 0.001, max_link_rate = 100'000;

/// Tables that name one switch or one domain give the same rate for it.
class shared_rates {
 public:
  explicit shared_rates(std::string_view what) : what_(what) {}
  void check(section& s, std::string_view key, const std::string& of, double rate) {
    const auto [first, is_first] = rates_.try_emplace(of, rate);
    if (!is_first && first->second != rate)
      s.refuse(key, fmt::format("is {} for {} '{}', and {} in an earlier [[link]]; give one rate for it",
                                rate, what_, of, first->second));
  }

 private:
  std::string_view what_;
  std::map<std::string, double> rates_;
};

double read_rate(section& s, std::string_view key, std::optional<double> fallback = {}) {
  return s.number(key, "a number of Gbit/s", min_link_rate, max_link_rate, fallback);
}

/// 0 if it is absent.
double read_optional_rate(section& s, std::string_view key) {
  if (s.has(key)) return read_rate(s, key);
  s.unused(key);
  return 0;
}

/// Empty if it is absent.
std::string read_optional_name(section& s, std::string_view key) {
  if (s.has(key)) return s.name(key);
  s.unused(key);
  return {};
}

}  // namespace

std::vector<link_spec> read_links(section& root, const std::vector<node_spec>& nodes) {
  std::vector<std::string_view> names;
  for (const auto& n : nodes) names.push_back(n.name);
  std::map<std::string_view, size_t> line_of;  // of the table that names a node
  shared_rates uplinks("the leaf"), domains("the scale-up domain");
  std::vector<link_spec> links;
  for (auto* s : root.tables("link")) {
    link_spec l;
    for (const auto i : s->choices("nodes", names, true)) {
      l.nodes.emplace_back(names[i]);
      const auto [earlier, is_first] = line_of.try_emplace(names[i], s->at("nodes").line);
      if (!is_first)
        s->refuse("nodes",
                  fmt::format("holds \"{}\", whose link is in line {} already", names[i], earlier->second));
    }
    l.gbit_per_s = read_rate(*s, "gbit_per_s");
    l.leaf = read_optional_name(*s, "leaf");
    if (l.leaf.empty()) {
      s->unused("uplink_gbit_per_s", "is the rate of a leaf switch; name the switch in leaf");
    } else {
      l.uplink_gbit_per_s = read_optional_rate(*s, "uplink_gbit_per_s");
      uplinks.check(*s, "uplink_gbit_per_s", l.leaf, l.uplink_gbit_per_s);
    }
    l.scale_up_domain = read_optional_name(*s, "scale_up_domain");
    if (l.scale_up_domain.empty()) {
      s->unused("scale_up_gbit_per_s",
                "is the rate of a scale-up domain; name the domain in scale_up_domain");
    } else {
      l.scale_up_gbit_per_s = read_rate(*s, "scale_up_gbit_per_s");
      domains.check(*s, "scale_up_gbit_per_s", l.scale_up_domain, l.scale_up_gbit_per_s);
    }
    l.host_to_device_gbit_per_s = read_optional_rate(*s, "host_to_device_gbit_per_s");
    l.ssd_gbit_per_s = read_optional_rate(*s, "ssd_gbit_per_s");
    links.push_back(std::move(l));
  }
  return links;
}

bool read_link_pacing(section& root, const std::vector<link_spec>& links) {
  auto& s = root.table_or_empty("links");
  const bool pace = s.flag("pace", false);
  if (pace && links.empty())
    s.refuse("pace", "needs the rates of links; add a [[link]] with nodes and gbit_per_s, or remove pace");
  return pace;
}

}  // namespace troupe
