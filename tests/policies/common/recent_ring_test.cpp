#include "policies/common/recent_ring.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {
template <class T>
std::vector<T> all(const recent_ring<T>& r) {
  std::vector<T> out;
  for (size_t i = 0; i < r.size(); ++i) out.push_back(r[i]);
  return out;
}
}  // namespace

TEST_CASE("recent: keeps the newest entries, the oldest of them first") {
  recent_ring<int> r(3);
  CHECK(all(r).empty());
  for (int i = 1; i <= 3; ++i) r.push(i);
  CHECK(all(r) == std::vector{1, 2, 3});
  r.push(4);
  CHECK(all(r) == std::vector{2, 3, 4});
  r.push(5);
  r.push(6);
  r.push(7);
  CHECK(all(r) == std::vector{5, 6, 7});
}

TEST_CASE("recent: without room for anything it keeps nothing") {
  recent_ring<int> r;
  r.push(1);
  CHECK(r.size() == 0);
}
