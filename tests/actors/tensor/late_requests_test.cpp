#include "actors/tensor/late_requests.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace troupe;

namespace {

in_flight_request late_one(uint64_t id) {
  in_flight_request f;
  f.asked.id = request_id{id};
  f.pulled.resize(8);
  return f;
}

}  // namespace

TEST_CASE("late requests: an input and a pull are taken once, each from its own table") {
  late_requests late;
  late.add_input(late_one(1));
  late.add_pull(late_one(2));
  CHECK(late.size() == 2);
  CHECK(late.has_input(request_id{1}));
  CHECK_FALSE(late.has_input(request_id{2}));
  CHECK_FALSE(late.take_pull(request_id{1}));
  CHECK_FALSE(late.take_input(request_id{2}));
  CHECK(late.take_input(request_id{1})->asked.id == request_id{1});
  CHECK_FALSE(late.take_input(request_id{1}));
  CHECK(late.take_pull(request_id{2})->asked.id == request_id{2});
  CHECK(late.size() == 0);
}

TEST_CASE("late requests: the buffer of a pull keeps its address") {
  late_requests late;
  auto f = late_one(1);
  const auto* buffer = f.pulled.data();
  late.add_pull(std::move(f));
  for (uint64_t id = 2; id < 100; ++id) late.add_pull(late_one(id));
  CHECK(late.take_pull(request_id{1})->pulled.data() == buffer);
}

TEST_CASE("late requests: all inputs are taken at once, and pulls stay") {
  late_requests late;
  for (uint64_t id : {1, 2, 3}) late.add_input(late_one(id));
  late.add_pull(late_one(4));
  std::set<request_id> ids;
  for (const auto& f : late.take_inputs()) ids.insert(f.asked.id);
  CHECK(ids == std::set{request_id{1}, request_id{2}, request_id{3}});
  CHECK(late.size() == 1);
  CHECK_FALSE(late.has_input(request_id{1}));
}
