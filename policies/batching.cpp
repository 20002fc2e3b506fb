#include "policies/batching.hpp"

#include <array>

#include "policies/deferred.hpp"
#include "policies/eager.hpp"

namespace troupe {
namespace {

template <class Policy>
std::unique_ptr<batching_policy> make(const batching_parameters& p, shedding rule) {
  return std::make_unique<Policy>(p, rule);
}

constexpr std::array<std::string_view, 2> rule_names{"timeout", "window"};  // as in `shedding`

}  // namespace

registry<batching_factory>& batchings() {
  static registry<batching_factory> known{{"deferred", make<deferred>}, {"eager", make<eager>}};
  return known;
}

std::unique_ptr<batching_policy> make_batching(std::string_view batching, std::string_view rule,
                                               const batching_parameters& p) {
  const auto* factory = batchings().find(batching);
  for (size_t i = 0; i < rule_names.size(); ++i)
    if (factory != nullptr && rule_names[i] == rule) return (*factory)(p, static_cast<shedding>(i));
  return nullptr;
}

std::span<const std::string_view> shedding_names() { return rule_names; }

}  // namespace troupe
