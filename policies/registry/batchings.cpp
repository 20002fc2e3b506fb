#include "policies/registry/batchings.hpp"

#include <algorithm>
#include <array>

#include "policies/baselines/clockwork.hpp"
#include "policies/baselines/nexus.hpp"
#include "policies/batching/deferred.hpp"
#include "policies/batching/eager.hpp"
#include "policies/batching/shape_classes.hpp"
#include "policies/batching/timeout.hpp"

namespace troupe {
namespace {

template <class Policy>
std::unique_ptr<batching_policy> make_plain(const batching_parameters& p, shedding rule) {
  return p.argument.empty() ? std::make_unique<Policy>(p, rule) : nullptr;
}

std::unique_ptr<batching_policy> make_timeout(const batching_parameters& p, shedding rule) {
  constexpr std::string_view uncapped = ", uncapped";
  std::string_view argument = p.argument;
  const bool capped = argument.size() <= uncapped.size() || !argument.ends_with(uncapped);
  if (!capped) argument.remove_suffix(uncapped.size());
  const auto wait = timeout::wait_of(argument, p.slo);
  return wait ? std::make_unique<timeout>(p, rule, *wait, capped) : nullptr;
}

std::unique_ptr<batching_policy> make_clockwork(const batching_parameters& p, shedding rule) {
  const bool any = p.argument == "any";
  return any || p.argument.empty() ? std::make_unique<clockwork>(p, rule, any) : nullptr;
}

constexpr std::array<std::string_view, 3> rule_names{"timeout", "window", "staggered"};  // as in `shedding`

}  // namespace

registry<batching_factory>& batchings() {
  static registry<batching_factory> known{{"deferred", make_plain<deferred>},
                                          {"eager", make_plain<eager>},
                                          {"timeout", make_timeout},
                                          {"clockwork", make_clockwork},
                                          {"nexus", make_plain<nexus>}};
  return known;
}

std::unique_ptr<batching_policy> make_batching(std::string_view batching, std::string_view rule,
                                               const batching_parameters& p) {
  auto parameters = p;
  if (const auto open = batching.find('('); open != batching.npos && batching.ends_with(')')) {
    parameters.argument = batching.substr(open + 1, batching.size() - open - 2);
    if (parameters.argument.empty()) return nullptr;
    batching = batching.substr(0, open);
  }
  const auto* factory = batchings().find(batching);
  const auto known = std::ranges::find(rule_names, rule);
  if (factory == nullptr || known == rule_names.end()) return nullptr;
  const auto shed = static_cast<shedding>(known - rule_names.begin());
  auto made = (*factory)(parameters, shed);
  if (made == nullptr || !p.by_shape) return made;
  return std::make_unique<shape_classes>(
      parameters, [make = *factory, shed](const batching_parameters& own) { return make(own, shed); });
}

std::span<const std::string_view> shedding_names() { return rule_names; }

}  // namespace troupe
