#include "config/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace troupe {

namespace {

constexpr double seconds_a_day = 86'400;

enum class victim { node, link };  // a link is `between` two nodes, or a `node` and all others
enum class amount { none, extra_ms, gbit_per_s, ppm };

/// Parameters of each kind of fault, in the order of `fault_kind`.
struct fault_form {
  fault_kind kind;
  victim where;
  bool lasts;
  amount how_much;
};
constexpr std::array<fault_form, fault_kind_count> forms{{
    {fault_kind::delay, victim::link, true, amount::extra_ms},
    {fault_kind::stall, victim::link, true, amount::none},
    {fault_kind::cut, victim::link, true, amount::none},
    {fault_kind::crash, victim::node, false, amount::none},
    {fault_kind::freeze, victim::node, true, amount::none},
    {fault_kind::restart, victim::node, true, amount::none},
    {fault_kind::slow_link, victim::link, true, amount::gbit_per_s},
    {fault_kind::reorder, victim::link, true, amount::extra_ms},
    {fault_kind::clock_drift, victim::node, true, amount::ppm},
    {fault_kind::poison, victim::node, false, amount::none},
    {fault_kind::ssd_slow, victim::node, true, amount::none},
    {fault_kind::chunk_corrupt, victim::node, true, amount::none},
    {fault_kind::deaf, victim::node, false, amount::none},
}};

class fault_reader {
 public:
  fault_reader(const cluster_spec& cluster, duration length) : length_(length) {
    for (uint32_t i = 0; i < cluster.nodes.size(); ++i) {
      nodes_.push_back(cluster.nodes[i].name);
      if (cluster.nodes[i].has(node_role::gateway)) gateways_.insert(i);
    }
  }

  fault_spec read(section& s) {
    fault_spec f;
    const auto kind = s.choice("kind", fault_kind_names);
    if (!kind) {  // its parameters are unknown then
      for (const auto* key : {"at_s", "for_s", "between", "node", "extra_ms", "gbit_per_s", "ppm"})
        s.unused(key);
      return f;
    }
    const auto& form = forms[*kind];
    f.kind = form.kind;
    f.at = s.seconds("at_s", 0, 7 * seconds_a_day);
    if (f.at >= length_) {
      s.refuse("at_s",
               fmt::format("must be less than duration_s = {}, the end of the run", to_seconds(length_)));
    }
    if (form.lasts) {
      f.length = s.seconds("for_s", 0.001, 7 * seconds_a_day);
    } else {
      unused(s, "for_s", form);
    }
    read_victim(s, form, f);
    read_amount(s, form, f);
    return f;
  }

 private:
  static void unused(section& s, std::string_view key, const fault_form& form) {
    s.unused(key, fmt::format("does not apply to a {} fault; remove this key", to_string(form.kind)));
  }

  void read_victim(section& s, const fault_form& form, fault_spec& f) {
    if (form.where == victim::link && s.has("between")) {
      const auto pair = s.choices("between", nodes_, true);
      if (pair.size() == 2) {
        f.a = node_id{static_cast<uint32_t>(pair[0])};
        f.b = node_id{static_cast<uint32_t>(pair[1])};
      } else if (!pair.empty()) {
        s.refuse("between", "must name two nodes");
      }
      unused(s, "node", form);
      return;
    }
    unused(s, "between", form);
    if (form.where == victim::link && !s.has("node")) {
      s.refuse(
          fmt::format("a {} fault needs between = [\"a\", \"b\"], or node = \"a\" for all links of that node",
                      to_string(form.kind)));
      s.unused("node");
      return;
    }
    f.a = f.b = node_id{static_cast<uint32_t>(s.choice("node", nodes_).value_or(0))};
    if (form.kind == fault_kind::poison && !gateways_.contains(f.a.value))
      s.refuse("node", "must be a gateway: a poison request comes from the clients of one");
  }

  static void read_amount(section& s, const fault_form& form, fault_spec& f) {
    if (form.how_much == amount::extra_ms) {
      f.extra = s.milliseconds("extra_ms", 0.001, 1e6);
    } else {
      unused(s, "extra_ms", form);
    }
    if (form.how_much == amount::gbit_per_s) {
      f.gbit_per_s = s.number("gbit_per_s", "a number of Gbit/s", 1e-6, 100'000);
    } else {
      unused(s, "gbit_per_s", form);
    }
    if (form.how_much == amount::ppm) {
      f.drift_ppm = s.number("ppm", "parts per million", -1e5, 1e5);
    } else {
      unused(s, "ppm", form);
    }
  }

  duration length_;
  std::vector<std::string_view> nodes_;
  std::set<uint32_t> gateways_;
};

}  // namespace

std::vector<fault_spec> read_faults(section& root, const cluster_spec& cluster, duration length) {
  fault_reader faults{cluster, length};
  std::vector<fault_spec> out;
  for (auto* s : root.tables("fault")) out.push_back(faults.read(*s));
  std::stable_sort(out.begin(), out.end(), [](const auto& x, const auto& y) { return x.at < y.at; });
  return out;
}

random_fault_spec read_random_faults(section& root) {
  random_fault_spec r;
  auto* faults = root.table("faults");
  if (!faults) return r;
  auto* s = faults->table("random");
  if (!s) {
    if (!faults->has("random")) faults->refuse("random", "is missing; give { count } or { per_minute }");
    return r;
  }
  if (s->has("count") == s->has("per_minute")) {
    s->refuse("give either count or per_minute");
    s->unused("count");
    s->unused("per_minute");
  } else if (s->has("count")) {
    r.count = static_cast<uint32_t>(s->integer("count", 0, 1'000'000));
    s->unused("per_minute");
  } else {
    r.per_minute = s->number("per_minute", "a number", 0, 1e6);
    s->unused("count");
  }
  for (const auto k : s->choices("kinds", fault_kind_names, false))
    r.kinds.push_back(static_cast<fault_kind>(k));
  if (r.kinds.empty()) {
    for (size_t k = 0; k < fault_kind_count; ++k) r.kinds.push_back(static_cast<fault_kind>(k));
  }
  return r;
}

clock_spec read_clocks(section& root) {
  auto& s = root.table_or_empty("clocks");
  // Clocks of different hosts differ in offset and rate; a simulation without these differences would hide
  // bugs.
  return {.max_offset = s.seconds("max_offset_s", 0, 30 * seconds_a_day, 1000),
          .max_drift_ppm = s.number("max_drift_ppm", "parts per million", 0, 1e5, 10)};
}

}  // namespace troupe
