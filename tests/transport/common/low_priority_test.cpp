#include "transport/common/low_priority.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

using namespace troupe;

namespace {

int own_priority() { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid())); }

}  // namespace

TEST_CASE("a low priority is that of its thread and of those that it creates") {
  const auto before = own_priority();
  int lowered = 0, created = 0;
  std::thread([&] {
    lower_priority();
    lowered = own_priority();
    std::thread([&] { created = own_priority(); }).join();
  }).join();
  const int expected = std::min(before + 10, 19);
  CHECK(lowered == expected);
  CHECK(created == expected);
  CHECK(!has_low_priority);
  CHECK(own_priority() == before);
}
