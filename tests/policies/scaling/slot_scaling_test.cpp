#include "policies/scaling/slot_scaling.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace troupe;

namespace {

constexpr model_id common_model{0}, rare_model{1};

/// Six slots, of which 4 is not scalable; a sample is 100 ms.
struct scaled_domain {
  explicit scaled_domain(autoscale_mode mode = autoscale_mode::apply)
      : scaling(spec(mode), {{0}, {1}, {2}, {3}, {5}}) {
    for (uint32_t i = 0; i < 6; ++i) models[slot_id{i}] = {common_model};
    scaling.begin(true);
  }
  static autoscale_spec spec(autoscale_mode mode) {
    autoscale_spec s;
    s.mode = mode;
    s.window = 1s;
    return s;
  }
  /// So many samples with that many busy slots and bad requests of 100; the changes as "-5 -3" or "3".
  std::string live(int samples, uint32_t busy, uint64_t bad = 0) {
    std::string out;
    for (int i = 0; i < samples; ++i) {
      scaling.count_busy(busy * 100ms);
      scaling.count_requests(100 - bad, bad);
      CHECK(scaling.next_sample() == now);
      if (scaling.sample(now, static_cast<uint32_t>(models.size() - out_of_service.size())))
        for (const auto& c : scaling.apply(in_service())) {
          if (c.in) out_of_service.erase(c.slot);
          if (!c.in) out_of_service.insert(c.slot);
          out += (out.empty() ? "" : " ") + std::string(c.in ? "" : "-") + std::to_string(c.slot.value);
        }
      now += 100ms;
    }
    return out;
  }
  std::map<slot_id, std::span<const model_id>> in_service() const {
    std::map<slot_id, std::span<const model_id>> all;
    for (const auto& [id, m] : models)
      if (!out_of_service.contains(id)) all.emplace(id, m);
    return all;
  }
  slot_scaling scaling;
  std::map<slot_id, std::vector<model_id>> models;
  std::set<slot_id> out_of_service;
  time_point now{};
};

}  // namespace

TEST_CASE("slot_scaling: the highest scalable slots go out, the lowest come back first") {
  scaled_domain s;
  CHECK(s.live(12, 2) == "-5 -3 -2");  // 2.2 stay
  CHECK(s.live(3, 3, 40) == "2 3");    // 3 · 0.4 / 0.6
  CHECK(s.live(3, 5, 50) == "5");
}

TEST_CASE("slot_scaling: a model keeps its last slot in service") {
  scaled_domain s;
  s.models[slot_id{5}] = {common_model, rare_model};
  s.models[slot_id{2}] = {rare_model};
  CHECK(s.live(12, 0) == "-5 -3 -1 -0");  // 2 has the last rare model, 4 does not scale
}

TEST_CASE("slot_scaling: a slot that an operator put back, or took out, is not put back by advice") {
  scaled_domain s;
  CHECK(s.live(12, 2) == "-5 -3 -2");
  s.scaling.release(slot_id{2});
  CHECK(s.live(3, 3, 60) == "3 5");
}

TEST_CASE("slot_scaling: advice alone changes nothing") {
  scaled_domain s(autoscale_mode::advise);
  CHECK(s.live(12, 2).empty());
  REQUIRE(s.scaling.advice() != nullptr);
  CHECK(s.scaling.advice()->gpus == -3);
}

TEST_CASE("slot_scaling: a new term clears the load, and an arbiter without leadership gets no advice") {
  scaled_domain s;
  CHECK(s.live(10, 2).empty());
  SUBCASE("granting") {
    s.scaling.begin(true);
    CHECK(s.scaling.next_sample() == time_point{});
    CHECK(s.scaling.advice()->gpus == 0);
  }
  SUBCASE("not granting") {
    s.scaling.begin(false);
    CHECK(s.scaling.next_sample() == never);
    CHECK(s.scaling.advice() == nullptr);
  }
}

TEST_CASE("slot_scaling: without a spec there are no samples") {
  slot_scaling s({}, {});
  s.begin(true);
  s.count_requests(1, 1);
  CHECK(s.next_sample() == never);
  CHECK(s.advice() == nullptr);
}
