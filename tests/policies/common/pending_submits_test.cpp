#include "policies/common/pending_submits.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

request request_of(uint64_t id, uint32_t model) {
  request r;
  r.id = request_id{id};
  r.model = model_id{model};
  return r;
}

/// The ids of each message, by model.
std::vector<std::pair<uint32_t, std::vector<uint64_t>>> flushed(pending_submits& p,
                                                                time_point now = time_point{}) {
  std::vector<std::pair<uint32_t, std::vector<uint64_t>>> out;
  p.flush(now, [&](model_id model, submit s) {
    out.push_back({model.value, {}});
    for (const auto& r : s.requests) out.back().second.push_back(r.id.value);
  });
  return out;
}

using submit_messages = std::vector<std::pair<uint32_t, std::vector<uint64_t>>>;

}  // namespace

TEST_CASE("pending submits: the requests of a model travel together, models in their order") {
  pending_submits p;
  p.add(request_of(1, 2)), p.add(request_of(2, 0)), p.add(request_of(3, 2));
  CHECK(flushed(p) == submit_messages{{0, {2}}, {2, {1, 3}}});
  CHECK(flushed(p).empty());
}

TEST_CASE("pending submits: an erased request is not sent") {
  pending_submits p;
  CHECK_FALSE(p.erase(model_id{4}, request_id{1}));
  p.add(request_of(1, 0)), p.add(request_of(2, 0));
  CHECK_FALSE(p.erase(model_id{1}, request_id{1}));
  CHECK(p.erase(model_id{0}, request_id{1}));
  CHECK_FALSE(p.erase(model_id{0}, request_id{1}));
  CHECK(flushed(p) == submit_messages{{0, {2}}});
  p.add(request_of(3, 0));
  p.clear();
  CHECK(flushed(p).empty());
}

TEST_CASE("pending submits: a request for later waits until it is due") {
  constexpr time_point soon{20ms}, later{40ms};
  pending_submits p;
  CHECK(p.next_due() == never);
  p.add_later(request_of(1, 0), later), p.add_later(request_of(2, 0), soon), p.add(request_of(3, 0));
  CHECK(p.next_due() == soon);
  CHECK(flushed(p) == submit_messages{{0, {3}}});
  CHECK(flushed(p, soon) == submit_messages{{0, {2}}});
  CHECK(p.next_due() == later);
  CHECK(p.erase(model_id{0}, request_id{1}));
  CHECK(flushed(p, later).empty());
  p.add_later(request_of(4, 0), later);
  p.clear();
  CHECK(p.next_due() == never);
}

TEST_CASE("pending submits: requests beyond a frame go in several messages, in order") {
  pending_submits p;
  for (uint64_t id = 1; id <= 2 * 4096; ++id) p.add(request_of(id, 0));
  auto sent = flushed(p);
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].second.size() == 4096);
  CHECK(sent[1].second.front() == 4097);
  CHECK(sent[1].second.back() == 2 * 4096);
  for (uint64_t id = 1; id <= 4097; ++id) p.add(request_of(id, 0));
  sent = flushed(p);
  REQUIRE(sent.size() == 2);
  CHECK(sent[1].second == std::vector<uint64_t>{4097});
}
