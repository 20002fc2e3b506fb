#include "gpu/kernels/cuda/sampling_rows.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace troupe;
using namespace troupe::cuda;

namespace {

constexpr float banned = -std::numeric_limits<float>::infinity();

/// A row's counts and biases.
struct row_case {
  kernels::sampling_args args() const {
    kernels::sampling_args a;
    a.vocabulary = 100;
    a.counts = counts.data(), a.count_entries = counts.size();
    a.biases = biases.data(), a.bias_entries = biases.size();
    return a;
  }
  std::vector<kernels::token_count> counts;
  std::vector<kernels::token_bias> biases;
};

}  // namespace

TEST_CASE("sampling rows: a token with counts and a bias is one adjustment") {
  const row_case w{{{7, 1, 2}, {3, 4, 0}}, {{9, banned}, {7, 0.5F}, {2, 1}}};
  sampling_rows rows;
  rows.add(w.args());
  const auto& all = rows.adjustments();
  REQUIRE(all.size() == 4);
  CHECK(rows.rows()[0].adjustments == 4);
  const auto is = [&](size_t i, uint32_t token, uint32_t prompt, uint32_t output, float bias) {
    CHECK(all[i].token == token);
    CHECK(all[i].prompt == prompt);
    CHECK(all[i].output == output);
    CHECK(all[i].bias == bias);
  };
  is(0, 2, 0, 0, 1);
  is(1, 3, 4, 0, 0);
  is(2, 7, 1, 2, 0.5F);
  is(3, 9, 0, 0, banned);
}

TEST_CASE("sampling rows: each row has its own adjustments, or none") {
  const row_case counted{{{5, 1, 0}, {1, 0, 1}}, {}}, biased{{}, {{5, 1}}}, both{{{5, 1, 0}}, {{5, 2}}};
  sampling_rows rows;
  for (const auto& w : {row_case{}, counted, biased, row_case{}, both}) rows.add(w.args());
  const uint32_t first[] = {0, 0, 2, 3, 3}, count[] = {0, 2, 1, 0, 1};
  REQUIRE(rows.rows().size() == 5);
  for (size_t i = 0; i < 5; ++i) {
    CAPTURE(i);
    CHECK(rows.rows()[i].first_adjustment == first[i]);
    CHECK(rows.rows()[i].adjustments == count[i]);
  }
  REQUIRE(rows.adjustments().size() == 4);
  CHECK(rows.adjustments()[0].token == 5);
  CHECK(rows.adjustments()[1].token == 1);
  CHECK(rows.adjustments()[2].prompt == 0);
  CHECK(rows.adjustments()[3].prompt == 1);
  CHECK(rows.adjustments()[3].bias == 2);
}

TEST_CASE("sampling rows: a row with penalties has room for its uncounted last token") {
  row_case w{{{7, 1, 2}}, {{9, 1}}};
  auto a = w.args();
  sampling_rows rows;
  rows.add(a, 5);
  CHECK(rows.rows()[0].uncounted == row_sampling::no_row);
  CHECK(rows.rows()[0].adjustments == 2);
  a.parameters.presence_penalty = 1;
  rows.add(a, 5);
  rows.add(a);
  CHECK(rows.rows()[1].uncounted == 5);
  CHECK(rows.rows()[1].adjustments == 3);
  CHECK(rows.adjustments()[4].token == kernels::no_token);
  CHECK(rows.rows()[2].uncounted == row_sampling::no_row);
  CHECK(rows.rows()[2].first_adjustment == 5);
}

TEST_CASE("sampling rows: clear() removes all rows and adjustments") {
  const row_case w{{}, {{5, 1}}};
  sampling_rows rows;
  rows.add(w.args());
  rows.clear();
  CHECK(rows.rows().empty());
  CHECK(rows.adjustments().empty());
  rows.add(w.args());
  CHECK(rows.rows().at(0).first_adjustment == 0);
}

TEST_CASE("sampling rows: temperature 0 has scale 0, and the smallest temperature a finite scale") {
  const auto scale = [](float temperature) {
    kernels::sampling_args a;
    a.parameters.temperature = temperature;
    sampling_rows rows;
    rows.add(a);
    return rows.rows()[0].scale;
  };
  CHECK(scale(0) == 0);
  CHECK(scale(1) == doctest::Approx(std::log2(std::exp(1.0))));
  CHECK(scale(2) == doctest::Approx(std::log2(std::exp(1.0)) / 2));
  CHECK(std::isfinite(scale(std::numeric_limits<float>::denorm_min())));
  CHECK(scale(std::numeric_limits<float>::denorm_min()) > scale(1e-20F));
}

TEST_CASE("sampling rows: the uniform number is that of seed and position") {
  kernels::sampling_args a;
  a.parameters.seed = 3, a.position = 4, a.top_entries = 2;
  sampling_rows rows;
  rows.add(a);
  CHECK(rows.rows()[0].uniform == kernels::uniform(3, 4));
  CHECK(rows.rows()[0].top == 2);
}
