#include "policies/batching.hpp"

#include <array>

#include "policies/deferred.hpp"
#include "policies/eager.hpp"

namespace troupe {
namespace {

using maker = std::unique_ptr<batching_policy> (*)(const batching_parameters&, shedding);

template <class Policy>
std::unique_ptr<batching_policy> make(const batching_parameters& p, shedding rule) {
  return std::make_unique<Policy>(p, rule);
}

// Names and what they stand for, side by side.
constexpr std::array<std::string_view, 2> policy_names{"deferred", "eager"};
constexpr std::array<maker, 2> policies{make<deferred>, make<eager>};
constexpr std::array<std::string_view, 2> rule_names{"timeout", "window"};
constexpr std::array<shedding, 2> rules{shedding::timeout, shedding::window};

}  // namespace

std::unique_ptr<batching_policy> make_batching(std::string_view batching, std::string_view rule,
                                               const batching_parameters& p) {
  for (size_t i = 0; i < policies.size(); ++i)
    for (size_t k = 0; k < rules.size(); ++k)
      if (policy_names[i] == batching && rule_names[k] == rule) return policies[i](p, rules[k]);
  return nullptr;
}

std::span<const std::string_view> batching_names() { return policy_names; }
std::span<const std::string_view> shedding_names() { return rule_names; }

}  // namespace troupe
