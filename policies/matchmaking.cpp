#include "policies/matchmaking.hpp"

#include <array>

#include "policies/timer_matchmaking.hpp"

namespace troupe {
namespace {

class lowest_id final : public timer_matchmaking {
  uint32_t choose(const slot_times& free_at, time_point start) const override {
    return free_at.first_within(start);
  }
};

class earliest_free final : public timer_matchmaking {
  uint32_t choose(const slot_times& free_at, time_point start) const override {
    return free_at.best() <= start ? free_at.first() : slot_times::npos;
  }
};

constexpr std::array<std::string_view, 2> names{"lowest_id", "earliest_free"};

}  // namespace

std::unique_ptr<matchmaking_policy> make_matchmaking(std::string_view name) {
  if (name == names[0]) return std::make_unique<lowest_id>();
  if (name == names[1]) return std::make_unique<earliest_free>();
  return nullptr;
}

std::span<const std::string_view> matchmaking_names() { return names; }

}  // namespace troupe
