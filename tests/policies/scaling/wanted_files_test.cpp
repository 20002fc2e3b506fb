#include "policies/scaling/wanted_files.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

constexpr model_id detector{7}, twin{8}, other{9};
constexpr weights_id shared_files{107}, other_files{109};

struct wanted_stage {
  /// Models to be loaded now.
  std::vector<model_id> settled() {
    auto s = wanted.settle(
        [&](weights_id files) {
          const auto held = states.find(files);
          return held == states.end() ? std::nullopt : std::optional(held->second);
        },
        now);
    without = std::move(s.without);
    return s.models;
  }
  image_state& state(weights_id files = shared_files) { return states[files]; }
  static image_state complete() {
    image_state s;
    s.chunks = s.ready = 4;
    return s;
  }

  wanted_files wanted{5s};
  std::map<weights_id, image_state> states;
  std::vector<wanted_files::given_up> without;
  time_point now{1000s};
};

using models = std::vector<model_id>;

}  // namespace

TEST_CASE("wanted files: a model is loaded once they have come, and again whenever the log names it") {
  wanted_stage s;
  CHECK(s.wanted.assign(detector, shared_files, "detector"));
  s.state().chunks = 4;
  CHECK(s.settled().empty());
  s.state() = s.complete();
  CHECK(s.settled() == models{detector});
  CHECK(s.settled().empty());
  CHECK_FALSE(s.wanted.assign(detector, shared_files, "detector"));
  CHECK(s.settled() == models{detector});
  CHECK(s.without.empty());
  CHECK(s.wanted.next_wakeup() == never);
}

TEST_CASE("wanted files: models share them until the last one is withdrawn") {
  wanted_stage s;
  CHECK(s.wanted.assign(detector, shared_files, "detector"));
  CHECK(s.wanted.assign(twin, shared_files, "twin"));
  CHECK(s.wanted.assign(other, other_files, "other"));
  s.state() = s.complete();
  s.state(other_files).chunks = 4;
  CHECK(s.settled() == models{detector, twin});
  CHECK_FALSE(s.wanted.withdraw(detector, shared_files));
  CHECK(s.wanted.withdraw(twin, shared_files));
  CHECK_FALSE(s.wanted.withdraw(twin, shared_files));
  s.state(other_files) = s.complete();
  CHECK(s.settled() == models{other});
}

TEST_CASE("wanted files: a model that is withdrawn is loaded no more") {
  wanted_stage s;
  s.wanted.assign(detector, shared_files, "detector");
  s.wanted.assign(twin, shared_files, "twin");
  s.wanted.withdraw(twin, shared_files);
  s.state() = s.complete();
  CHECK(s.settled() == models{detector});
}

TEST_CASE("wanted files: without progress for the patience they are given up, and the models loaded") {
  wanted_stage s;
  s.wanted.assign(detector, shared_files, "detector");
  s.state().chunks = 4;
  CHECK(s.settled().empty());
  std::string problem = "no leader has ordered a copy, or no node can read the files";
  SUBCASE("nobody sends") {}
  SUBCASE("a source that stops") {
    s.now += 4s;
    s.state().filling = true;
    CHECK(s.settled().empty());
    s.now += 4s;
    s.state().ready = 1;
    CHECK(s.settled().empty());
    problem = "its source sends nothing";
  }
  CHECK(s.wanted.next_wakeup() == s.now + 5s);
  s.now += 5s - 1ns;
  CHECK(s.settled().empty());
  s.now += 1ns;
  CHECK(s.settled() == models{detector});
  REQUIRE(s.without.size() == 1);
  CHECK(s.without[0].files == shared_files);
  CHECK(s.without[0].name == "detector");
  CHECK(s.without[0].problem == problem);
  CHECK(s.wanted.next_wakeup() == never);
}

TEST_CASE("wanted files: with a problem they are given up at once") {
  wanted_stage s;
  s.wanted.assign(detector, shared_files, "detector");
  s.state().problem = "no room";
  CHECK(s.settled() == models{detector});
  REQUIRE(s.without.size() == 1);
  CHECK(s.without[0].problem == "no room");
}

TEST_CASE("wanted files: those that were given up settle at once, until another model wants them") {
  wanted_stage s;
  s.wanted.assign(detector, shared_files, "detector");
  CHECK(s.settled() == models{detector});  // nothing is held
  CHECK_FALSE(s.wanted.assign(detector, shared_files, "detector"));
  CHECK(s.settled() == models{detector});
  CHECK(s.wanted.assign(twin, shared_files, "twin"));
  s.state().chunks = 4;
  CHECK(s.settled().empty());
  CHECK(s.wanted.next_wakeup() == s.now + 5s);
}
