#include "transport/common/patient_call.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace troupe;

TEST_CASE("patient_call: a quick call gives its result without notice") {
  int notices = 0;
  CHECK(patient_call([] { return 7; }, 1h, [&] { ++notices; }) == 7);
  CHECK(notices == 0);
  CHECK_THROWS_AS(patient_call([]() -> int { throw std::runtime_error("no"); }, 1h, [] {}),
                  std::runtime_error);
}

TEST_CASE("patient_call: a slow call is noticed while it goes on") {
  std::promise<void> noticed;
  const auto answer = patient_call([&] { return noticed.get_future().get(), 7; }, 1ms,
                                   [&] { noticed.set_value(); });  // it ends only after the notice
  CHECK(answer == 7);
}
