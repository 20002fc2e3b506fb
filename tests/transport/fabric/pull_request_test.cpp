#include "transport/fabric/pull_request.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

using namespace troupe;

namespace {

pull_plan plan_of(size_t early, std::vector<std::byte>& into) {
  pull_plan plan;
  for (size_t i = 0; i < early; ++i)
    plan.ranges.push_back({i * 1000, std::span(into).first(i % (into.size() + 1))});
  plan.early = early;
  plan.ranges.push_back({~uint64_t{0}, std::span(into).first(16)});
  return plan;
}

/// Whether a decoded request keeps the bounds of plans.
bool keeps_bounds(const pull_request& r) {
  uint64_t last = 0;
  for (size_t i = r.early; i < r.ranges.size(); ++i) last += r.ranges[i].size;
  return r.early <= max_early_ranges && r.ranges.size() > r.early &&
         r.ranges.size() - r.early <= max_last_ranges && last <= max_last_bytes;
}

}  // namespace

TEST_CASE("a request has the ranges of its plan in their order") {
  std::vector<std::byte> into(500);
  for (const size_t early : {size_t{0}, size_t{1}, size_t{77}, max_early_ranges}) {
    const auto plan = plan_of(early, into);
    const auto bytes = encode_request(plan);
    CHECK(bytes.size() <= max_pull_request_bytes);
    CHECK(bytes.size() >= min_pull_request_bytes);
    const auto request = decode_request(bytes);
    REQUIRE(request);
    CHECK(request->early == early);
    REQUIRE(request->ranges.size() == plan.ranges.size());
    bool equal = true;
    for (size_t i = 0; i < plan.ranges.size(); ++i)
      equal = equal && request->ranges[i].offset == plan.ranges[i].offset &&
              request->ranges[i].size == plan.ranges[i].into.size();
    CHECK(equal);
  }
}

TEST_CASE("a request beyond the bounds of plans is none") {
  std::vector<std::byte> into(500);
  CHECK(!decode_request(encode_request(plan_of(max_early_ranges + 1, into))));
  auto plan = plan_of(3, into);
  plan.ranges.pop_back();  // no last range
  CHECK(!decode_request(encode_request(plan)));
  plan.ranges.push_back({0, std::span(into).first(33)});
  CHECK(!decode_request(encode_request(plan)));
  plan.ranges.back() = {0, std::span(into).first(17)};
  plan.ranges.push_back({0, std::span(into).first(16)});
  CHECK(!decode_request(encode_request(plan)));
  plan.ranges.back() = {0, std::span(into).first(15)};
  CHECK(decode_request(encode_request(plan)));
  plan.ranges.push_back({0, {}});
  CHECK(!decode_request(encode_request(plan)));
}

TEST_CASE("any bytes are a request within the bounds, or none") {
  std::vector<std::byte> into(500);
  std::mt19937_64 random(1);
  int decoded = 0;
  for (int i = 0; i < 200'000; ++i) {
    auto bytes = encode_request(plan_of(random() % 5, into));
    const auto changes = random() % 4;
    for (uint64_t c = 0; c < changes; ++c)
      bytes[random() % (random() % 2 == 0 ? 8 : bytes.size())] = static_cast<std::byte>(random());
    if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 20));
    if (const auto request = decode_request(bytes)) {
      ++decoded;
      if (!keeps_bounds(*request)) FAIL("beyond a bound");
      std::vector<std::byte> again(bytes.size());
      const uint32_t counts[] = {static_cast<uint32_t>(request->early),
                                 static_cast<uint32_t>(request->ranges.size() - request->early)};
      std::memcpy(again.data(), counts, sizeof counts);
      std::memcpy(again.data() + sizeof counts, request->ranges.data(),
                  request->ranges.size() * sizeof(pull_range));
      if (again != bytes) FAIL("not the bytes that were sent");
    }
  }
  CHECK(decoded > 10'000);
  CHECK(!decode_request({}));
}
