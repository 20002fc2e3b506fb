#include "gpu/chat_template/date.hpp"

#include <doctest/doctest.h>

#include "gpu/chat_template/budget.hpp"

using namespace troupe::llm;
using namespace troupe::llm::jinja;

TEST_CASE("a date is written as strftime writes it") {
  CHECK(format_date("2024-02-29", "%d %b %Y") == "29 Feb 2024");
  CHECK(format_date("2024-03-05", "%A, %-d %B %Y, %e %m %y %a %j%%") ==
        "Tuesday, 5 March 2024,  5 03 24 Tue 065%");
  CHECK(format_date("2024-07-26T14:05:09", "%H:%M:%S %I %p %-I %F %T") ==
        "14:05:09 02 PM 2 2024-07-26 14:05:09");
  CHECK(format_date("2024-07-26T00:05", "%I %p") == "12 AM");
}

TEST_CASE("invalid dates and directives are refused") {
  for (const auto* iso : {"", "2024", "2024-02-30", "2024-13-01", "2024/01/01", "2024-01-01T25:00",
                          "2024-01-01T10:0", "-024-01-01"})
    CHECK_THROWS_AS(format_date(iso, "%Y"), jinja::refusal);
  for (const auto* format : {"%", "%Q", "%-", "%-Y"})
    CHECK_THROWS_AS(format_date("2024-01-01", format), jinja::refusal);
}
