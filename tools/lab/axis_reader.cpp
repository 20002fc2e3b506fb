#include "tools/lab/axis_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "messages/common/near.hpp"
#include "tools/lab/scenario.hpp"

namespace troupe::lab {

namespace {

template <class Names>
bool among(std::string_view name, const Names& names) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// Why varying the parameter has no effect. Empty: it has one.
std::string useless(std::string_view parameter, measure what, std::span<const std::string> policies) {
  static constexpr std::array<std::string_view, 2> machine{"cores", "domains"};
  static constexpr std::array<std::string_view, 9> of_scheduler{
      "gpus",    "gpus_per_model", "copies",  "slo_ms",         "alpha_ms",
      "beta_ms", "cores",          "domains", "timeout_percent"};
  static constexpr std::array<std::string_view, 2> gpus{"gpus", "gpus_per_model"};
  static constexpr std::array<std::string_view, 3> of_latency{"batch", "rank", "context"};
  const auto ignores = [&] {
    return fmt::format("has no effect: the measure {} ignores {}; remove this axis",
                       measure_names[static_cast<size_t>(what)], parameter);
  };
  switch (what) {
    case measure::scheduler:
      if (!among(parameter, of_scheduler)) return ignores();
      break;
    case measure::partition:
    case measure::llm:
    case measure::scaling:
    case measure::chain: return ignores();
    case measure::latency:
      if (!among(parameter, of_latency)) return ignores();
      return {};
    case measure::goodput:
      if (parameter == "rate_rps") return ignores();
      break;
    case measure::fewest_gpus:
      if (among(parameter, gpus)) return ignores();
      break;
    default: break;
  }
  if (among(parameter, of_latency)) return ignores();
  if (what != measure::scheduler && among(parameter, machine))
    return "has no effect: it is for real time, and only the measure scheduler runs in real time; remove "
           "this axis";
  if (parameter == "timeout_percent" && std::none_of(policies.begin(), policies.end(), is_waiting))
    return "has no effect: no policy here has a time-out; add \"timeout\", or remove this axis";
  return {};
}

/// None, and a problem with all names, if the parameter is unknown.
const parameter* read_parameter(section& s) {
  const auto written = s.peek("parameter");
  const auto* found = parameter_named(written);
  std::vector<std::string_view> names;
  std::string listed;
  for (const auto& p : parameters()) {
    names.push_back(p.name);
    listed += (listed.empty() ? "" : ", ") + in_quotes(p.name);
  }
  if (found != nullptr) {
    s.choice("parameter", names);
    return found;
  }
  s.unused("parameter");
  const auto near = nearest(written, names);
  s.refuse("parameter", fmt::format("{}must be one of {}{}{}", s.has("parameter") ? "" : "is missing; it ",
                                    listed, written.empty() ? "" : ", not " + in_quotes(written),
                                    near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  return nullptr;
}

}  // namespace

std::vector<double> read_values(section& s, std::string_view key, const parameter& p) {
  auto out = s.numbers(key, p.unit, p.min, p.max);
  for (size_t i = 1; i < out.size(); ++i) {
    if (std::find(out.begin(), out.begin() + static_cast<ptrdiff_t>(i), out[i]) ==
        out.begin() + static_cast<ptrdiff_t>(i))
      continue;
    s.refuse(key, fmt::format("holds {} twice; remove one", out[i]));
    return {};
  }
  return out;
}

axes_reading read_axes(section& root, measure what, std::span<const std::string> policies) {
  axes_reading out;
  for (auto* s : root.tables("axis")) {
    const auto* p = read_parameter(*s);
    if (p == nullptr) {
      for (const auto* key : {"values", "quick"}) s->unused(key);
      out.complete = false;
      continue;
    }
    if (const auto why = useless(p->name, what, policies); !why.empty()) s->refuse("parameter", why);
    axis a;
    a.parameter = p->name;
    for (const auto& [key, to] : {std::pair{"values", &a.values}, std::pair{"quick", &a.quick}}) {
      const auto problems = s->owner().problem_count();
      *to = read_values(*s, key, *p);
      if (s->has(key) && to->empty() && s->owner().problem_count() == problems)
        s->refuse(key, "is empty; give it values, or remove it");
    }
    if (a.quick.empty()) a.quick = a.values;
    if (!s->has("values")) s->refuse("values", "is missing; it must be an array of numbers");
    if (std::any_of(out.axes.begin(), out.axes.end(),
                    [&](const auto& other) { return other.parameter == a.parameter; }))
      s->refuse("parameter", "is varied already; remove one of the two");
    out.axes.push_back(std::move(a));
    out.tables.push_back(s);
  }
  return out;
}

}  // namespace troupe::lab
