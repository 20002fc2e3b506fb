#include "transport/fabric/ucx/range_copies.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <vector>

using namespace troupe;
using ucx::range_copies;

namespace {

std::vector<std::byte> uneven_bytes(size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 31 + i / 251);
  return out;
}

struct copied {
  explicit copied(size_t bytes) : from(uneven_bytes(bytes)), into(bytes) {}
  void begin(range_copies& copies, const void* owner) {
    copies.add(owner, from, into, [this](pull_status s) { ended = s; });
  }
  std::vector<std::byte> from, into;
  std::optional<pull_status> ended;
};

}  // namespace

TEST_CASE("a range is copied slice by slice, one range after the other") {
  range_copies copies;
  copied first(2 * range_copies::slice + 7), second(range_copies::slice);
  first.begin(copies, nullptr);
  second.begin(copies, nullptr);
  for (int step = 0; step < 3; ++step) {
    CHECK(!first.ended);
    copies.step();
  }
  CHECK(first.ended == pull_status::ok);
  CHECK(first.into == first.from);
  CHECK(!second.ended);
  copies.step();
  CHECK(second.into == second.from);
  CHECK(copies.empty());
}

TEST_CASE("the ends of a range are read after all others") {
  range_copies copies;
  copied c(2 * range_copies::slice);
  c.begin(copies, nullptr);
  copies.step();
  c.from.front() = std::byte{99};  // its owner writes between two slices
  copies.step();
  CHECK(c.into.front() == std::byte{99});
}

TEST_CASE("the copies of an owner end as lost, and others go on") {
  range_copies copies;
  const int mine = 0, other = 0;
  copied lost(3 * range_copies::slice), kept(range_copies::slice);
  lost.begin(copies, &mine);
  kept.begin(copies, &other);
  copies.step();
  copies.cancel(&mine);
  CHECK(lost.ended == pull_status::lost);
  copies.step();
  CHECK(kept.ended == pull_status::ok);
  CHECK(copies.empty());
}

TEST_CASE("the end of one copy may begin the next") {
  range_copies copies;
  copied first(range_copies::slice), second(range_copies::slice);
  copies.add(nullptr, first.from, first.into, [&](pull_status) { second.begin(copies, nullptr); });
  copies.step();
  REQUIRE(!copies.empty());
  copies.step();
  CHECK(second.into == second.from);
}
