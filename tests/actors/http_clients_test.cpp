#include "actors/http_clients.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("http_clients: what a worker says of a failure reaches the client, also if it is not UTF-8") {
  outcome how;
  how.kind = outcome::fate::failed;
  how.error = failure::device_error;
  how.detail = "Gather 'n\xff': index 9 is out of range";
  const auto r = refusal_response(how);
  CHECK(r.status == 500);
  CHECK(r.body ==
        "{\"error\":\"request failed: Gather 'n\xEF\xBF\xBD': index 9 is out of range\","
        "\"reason\":\"device_error\"}");
}
