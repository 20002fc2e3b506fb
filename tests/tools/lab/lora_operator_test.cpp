#include "tools/lab/lora_operator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace troupe;
using namespace troupe::lab;
using row_counts = std::vector<uint32_t>;

TEST_CASE("lora operator: all three methods give the same result, and batches differ in their adapters") {
  for (const auto p : {adapter_popularity::distinct, adapter_popularity::uniform, adapter_popularity::skewed,
                       adapter_popularity::identical})
    for (const uint32_t batch : {1u, 2u, 7u, 16u}) {
      CAPTURE(batch);
      lora_operator op({p, batch, 8, 96, 1}, 40 * 2 * 8 * 96 * 2);
      op.run(lora_operator::method::sgmv);
      const auto sgmv = op.y();
      CHECK(std::ranges::any_of(sgmv, [](float y) { return std::abs(y) > 1e-4f; }));
      for (const auto how : {lora_operator::method::loop, lora_operator::method::gather_bmm}) {
        op.clear();
        op.again();
        op.run(how);
        REQUIRE(op.y() == sgmv);
      }
      op.clear();
      op.run(lora_operator::method::sgmv);
      CHECK(op.y() != sgmv);
    }
}

TEST_CASE("latency setup: rows of a batch are shared as in Punica's workloads") {
  CHECK(rows_by_adapter(adapter_popularity::distinct, 3) == row_counts{1, 1, 1});
  CHECK(rows_by_adapter(adapter_popularity::identical, 64) == row_counts{64});
  CHECK(rows_by_adapter(adapter_popularity::uniform, 64) == row_counts(8, 8));
  CHECK(rows_by_adapter(adapter_popularity::uniform, 10) == row_counts{2, 3, 2, 3});
  CHECK(rows_by_adapter(adapter_popularity::skewed, 1) == row_counts{1});
  CHECK(rows_by_adapter(adapter_popularity::skewed, 64) == row_counts{21, 14, 9, 6, 4, 3, 2, 1, 1, 1, 1, 1});
  for (uint32_t n = 1; n <= 64; ++n)
    for (const auto p : {adapter_popularity::uniform, adapter_popularity::skewed}) {
      const auto r = rows_by_adapter(p, n);
      CHECK(std::accumulate(r.begin(), r.end(), 0u) == n);
      CHECK(std::ranges::count(r, 0u) == 0);
    }
}
