#include "gpu/llm/expert_routes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace troupe::llm;

namespace {

std::vector<uint32_t> experts_of(const expert_routes& r, uint32_t experts, uint32_t row) {
  std::vector<uint32_t> out;
  for (uint32_t e = 0; e < experts; ++e)
    for (const uint32_t of_expert : r.rows_of(e))
      if (of_expert == row) out.push_back(e);
  return out;
}

float weight_of_row(const expert_routes& r, uint32_t expert, uint32_t row) {
  for (size_t i = 0; i < r.rows_of(expert).size(); ++i)
    if (r.rows_of(expert)[i] == row) return r.weights_of(expert)[i];
  return 0;
}

}  // namespace

TEST_CASE("expert routes: each row goes to its most likely experts, with weights that add up to 1") {
  const std::vector<float> logits{0, 1, 2, -1, 5, 5, 0, 5};
  expert_routes r;
  r.make(logits.data(), 2, 4, 2, true);
  CHECK(experts_of(r, 4, 0) == std::vector<uint32_t>{1, 2});
  CHECK(experts_of(r, 4, 1) == std::vector<uint32_t>{0, 1});  // of equal ones, the lower
  CHECK(weight_of_row(r, 2, 0) == doctest::Approx(1 / (1 + std::exp(-1.0))));
  CHECK(weight_of_row(r, 1, 0) == doctest::Approx(1 / (1 + std::exp(1.0))));
  CHECK(weight_of_row(r, 0, 1) == 0.5F);
  CHECK(r.rows_of(3).empty());
}

TEST_CASE("expert routes: without normalisation the weights are probabilities among all experts") {
  const std::vector<float> logits{0, std::log(2.0F), std::log(5.0F)};
  expert_routes r;
  r.make(logits.data(), 1, 3, 2, false);
  CHECK(weight_of_row(r, 2, 0) == doctest::Approx(5.0 / 8));
  CHECK(weight_of_row(r, 1, 0) == doctest::Approx(2.0 / 8));
  r.make(logits.data(), 1, 3, 3, true);
  CHECK(weight_of_row(r, 0, 0) == doctest::Approx(1.0 / 8));
}

TEST_CASE("expert routes: a row's experts and weights are the same among others as alone") {
  constexpr uint32_t experts = 16, per_row = 4, rows = 50;
  std::mt19937 random(5);
  std::vector<float> logits(rows * experts);
  for (float& x : logits) x = static_cast<float>(random() % 200) / 50 - 2;
  expert_routes together, alone;
  together.make(logits.data(), rows, experts, per_row, true);
  size_t all = 0;
  for (uint32_t e = 0; e < experts; ++e) {
    all += together.rows_of(e).size();
    CHECK(std::ranges::is_sorted(together.rows_of(e)));
    CHECK(together.rows_of(e).size() == together.weights_of(e).size());
  }
  CHECK(all == rows * per_row);
  int different = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    alone.make(&logits[row * experts], 1, experts, per_row, true);
    different += experts_of(together, experts, row) != experts_of(alone, experts, 0);
    for (uint32_t e = 0; e < experts; ++e)
      different += weight_of_row(together, e, row) != weight_of_row(alone, e, 0);
  }
  CHECK(different == 0);
}

TEST_CASE("expert routes: logits that are NaN come last, and all rows have their number of experts") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> logits{nan, -5, nan, 1, nan, nan, nan, nan};
  expert_routes r;
  r.make(logits.data(), 2, 4, 2, true);
  CHECK(experts_of(r, 4, 0) == std::vector<uint32_t>{1, 3});
  CHECK(experts_of(r, 4, 1) == std::vector<uint32_t>{0, 1});
}
