#include "actors/tensor/ordered_batch.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("ordered batch: parts with an error are not in the work of the device") {
  ordered_batch b;
  b.order.model = model_id{3};
  for (const uint32_t rows : {1, 2, 4}) {
    request r;
    r.rows = rows;
    b.order.requests.push_back(r);
  }
  b.parts.resize(3);
  CHECK(b.rows() == 7);
  b.parts[1].error = failure::stale_memory;
  CHECK(b.rows() == 5);
  const auto work = b.work();
  CHECK(work.model == model_id{3});
  CHECK(work.rows == 5);
  REQUIRE(work.parts.size() == 2);
  CHECK(work.parts[1].rows == 4);
  b.parts[0].error = b.parts[2].error = failure::stale_memory;
  CHECK_FALSE(b.has_input());
  CHECK(b.work().parts.empty());
}
