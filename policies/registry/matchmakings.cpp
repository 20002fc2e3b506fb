#include "policies/registry/matchmakings.hpp"

#include "policies/baselines/nexus_matchmaking.hpp"
#include "policies/baselines/shepherd.hpp"
#include "policies/matchmaking/timer_matchmaking.hpp"

namespace troupe {
namespace {

template <class Policy>
std::unique_ptr<matchmaking_policy> make_policy(const plugin_settings&) {
  return std::make_unique<Policy>();
}

}  // namespace

registry<matchmaking_factory>& matchmakings() {
  static registry<matchmaking_factory> known{{"lowest_id", make_policy<lowest_id>},
                                             {"earliest_free", make_policy<earliest_free>},
                                             {"shepherd", make_policy<shepherd>},
                                             {"nexus", make_policy<nexus_matchmaking>}};
  return known;
}

std::unique_ptr<matchmaking_policy> make_matchmaking(std::string_view name, const plugin_settings& settings) {
  const auto* factory = matchmakings().find(name);
  return factory != nullptr ? (*factory)(settings) : nullptr;
}

}  // namespace troupe
