#include "policies/llm/router_updates.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

constexpr llm_id model_one{0}, model_two{1};
constexpr time_point update_start{};

routed_request some_routed(uint64_t id, uint32_t version = 1) {
  routed_request r;
  r.id = request_id{id};
  r.version = version;
  return r;
}

using request_ids = std::vector<request_id>;

}  // namespace

TEST_CASE("router updates: each router gets one update about the requests of its model") {
  router_updates u(2);
  u.change(model_two, some_routed(1));
  u.change(model_two, some_routed(1, 2));
  u.end(model_one, request_id{3});
  CHECK_FALSE(u.take_changed(model_one));
  const auto changed = u.take_changed(model_two);
  REQUIRE(changed);
  CHECK(changed->model == model_two);
  CHECK_FALSE(changed->all);
  CHECK(changed->requests == std::vector{some_routed(1), some_routed(1, 2)});
  CHECK_FALSE(u.take_changed(model_two));
  const auto ended = u.take_ended(model_one);
  REQUIRE(ended);
  CHECK(ended->model == model_one);
  CHECK(ended->requests == request_ids{request_id{3}});
  CHECK_FALSE(u.take_ended(model_one));
  CHECK_FALSE(u.take_ended(model_two));
}

TEST_CASE("router updates: changes of an ended request are not sent") {
  router_updates u(1);
  u.change(model_one, some_routed(1)), u.change(model_one, some_routed(2));
  u.end(model_one, request_id{1});
  CHECK(u.take_changed(model_one)->requests == std::vector{some_routed(2)});
  CHECK(u.take_ended(model_one)->requests == request_ids{request_id{1}});
}

TEST_CASE("router updates: a full update replaces pending changes, even of a model without requests") {
  router_updates u(2);
  u.change(model_one, some_routed(1));
  u.end(model_one, request_id{2});
  u.ask_later(request_id{3}, update_start);
  u.start_over();
  CHECK(u.next_due() == never);
  u.change(model_one, some_routed(4));
  CHECK_FALSE(u.take_ended(model_one));
  const auto all = u.take_changed(model_one);
  REQUIRE(all);
  CHECK(all->all);
  CHECK(all->requests == std::vector{some_routed(4)});
  CHECK(u.take_changed(model_two)->all);
  CHECK_FALSE(u.take_changed(model_two));
}

TEST_CASE("router updates: a misplaced request is sent again after a delay, with later requests") {
  router_updates u(1);
  CHECK(u.next_due() == never);
  u.ask_later(request_id{2}, update_start);
  u.ask_later(request_id{1}, update_start + 20ms);
  CHECK(u.next_due() == update_start + 50ms);
  CHECK(u.take_due(update_start + 49ms).empty());
  CHECK(u.take_due(update_start + 50ms) == request_ids{request_id{2}, request_id{1}});
  CHECK(u.next_due() == never);
  CHECK(u.take_due(update_start + 1s).empty());
}
