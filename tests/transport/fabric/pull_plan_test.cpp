#include "transport/fabric/pull_plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace troupe;

namespace {

std::vector<std::byte> counted_bytes(size_t size) {
  std::vector<std::byte> out(size);
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 256);
  return out;
}

}  // namespace

TEST_CASE("a pull of one range reads each byte once, and both ends after all others") {
  for (const size_t size : {0u, 1u, 31u, 32u, 33u, 48u, 4096u}) {
    CAPTURE(size);
    std::vector<std::byte> into(size);
    const auto plan = plan_with_ends(1000, into);
    CHECK(plan.bytes() == size);
    CHECK(plan.last_bytes() == std::min<size_t>(size, max_last_bytes));
    CHECK(plan.early == (size > 32 ? 1 : 0));
    CHECK(!plan.bulk);
    std::vector<int> read(size);
    for (size_t i = 0; i < plan.ranges.size(); ++i) {
      const auto& r = plan.ranges[i];
      for (size_t b = 0; b < r.into.size(); ++b) {
        const size_t at = r.offset - 1000 + b;
        CHECK(&r.into[b] == &into[at]);
        CHECK((i >= plan.early) == (at < 16 || at + 16 >= size || size <= 32));
        ++read[at];
      }
    }
    CHECK(std::ranges::count(read, 1) == static_cast<std::ptrdiff_t>(size));
  }
  CHECK(plan_with_ends(0, {}, true).bulk);
}

TEST_CASE("a plan is copied within a process, large or small, with empty ranges") {
  for (const size_t unit : {size_t{100}, size_t{300'000}}) {
    const auto memory = counted_bytes(8 * unit);
    std::vector<std::byte> into(4 * unit), last(20);
    const std::span<std::byte> all(into);
    const pull_plan plan{{{5 * unit, all.subspan(0, unit)},
                          {unit, all.subspan(unit, 0)},
                          {0, all.subspan(unit, 3 * unit)},
                          {4 * unit, std::span(last).first(16)},
                          {unit, std::span(last).subspan(16)}},
                         3};
    pull_sources from;
    for (const auto& r : plan.ranges) from.push_back(std::span(memory).subspan(r.offset, r.into.size()));
    copy_pulled(plan, from);
    CHECK(std::ranges::equal(all.first(unit), std::span(memory).subspan(5 * unit, unit)));
    CHECK(std::ranges::equal(all.subspan(unit), std::span(memory).first(3 * unit)));
    CHECK(std::ranges::equal(std::span(last).first(16), std::span(memory).subspan(4 * unit, 16)));
    CHECK(std::ranges::equal(std::span(last).subspan(16), std::span(memory).subspan(unit, 4)));
  }
}
