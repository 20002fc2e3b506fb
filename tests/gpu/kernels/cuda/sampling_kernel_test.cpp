#include "gpu/kernels/cuda/sampling_kernel.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>

#include "gpu/kernels/cuda/sampling_rows.hpp"
#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cpu/sampling_case.hpp"
#include "tests/gpu/kernels/cuda/machine.hpp"

using namespace troupe;
using namespace troupe::cuda;
using kernels::no_token;
using kernels::sampling_args;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Samples all rows at once, with the same vocabulary. `drawn` replaces all uniform numbers; `uncounted` has
/// for each row a token that is missing in its counts, or no_token.
template <uint32_t Cluster>
std::vector<sampled_row> choose(const std::vector<sampling_args>& samplings, uint32_t order = 0,
                                std::optional<double> drawn = std::nullopt,
                                const std::vector<uint32_t>& uncounted = {}) {
  const auto n = static_cast<uint32_t>(samplings.size());
  const uint32_t vocabulary = samplings[0].vocabulary, stride = vocabulary + 3;
  sampling_rows sampled;
  shared_array<float> logits(n * stride);
  for (uint32_t r = 0; r < n; ++r) {
    sampled.add(samplings[r],
                r < uncounted.size() && uncounted[r] != no_token ? n - 1 - r : row_sampling::no_row);
    std::copy_n(samplings[r].logits, vocabulary, logits.data() + r * stride);
  }
  shared_array<row_sampling> rows(sampled.rows());
  for (size_t r = 0; r < n && drawn; ++r) rows[r].uniform = *drawn;
  shared_array<token_adjustment> adjustments(sampled.adjustments());
  shared_array<int32_t> tokens(n);
  for (uint32_t r = 0; r < uncounted.size(); ++r) tokens[n - 1 - r] = static_cast<int32_t>(uncounted[r]);
  shared_array<sampled_row> out(n + 1);
  shared_array<uint32_t> count(std::vector<uint32_t>{n});
  sampling_kernel<Cluster> k;
  k.rows = count.data(), k.logits = logits.data(), k.vocabulary = vocabulary, k.stride = stride;
  k.samplings = rows.data(), k.tokens = tokens.data(), k.adjustments = adjustments.data(), k.out = out.data();
  run_kernel(k, k.grid(n + 1), order);
  CHECK(logits.intact());
  CHECK(out.intact());
  CHECK(adjustments.intact());
  CHECK(out[n].chosen.token == ~0U);  // rows beyond the last are not written
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t i = vocabulary; i < stride; ++i) CHECK(std::isnan(logits[r * stride + i]));
  auto all = out.values();
  all.pop_back();
  return all;
}

sampling_args args_of(const std::vector<float>& logits, const kernels::sampling_parameters& p,
                      uint64_t position = 0) {
  sampling_args a;
  a.logits = logits.data(), a.vocabulary = static_cast<uint32_t>(logits.size()), a.parameters = p;
  a.position = position;
  return a;
}

/// Whether the result of a row is the reference's.
void check_row(kernels::sampling_case& c, const sampled_row& got) {
  const auto expected = sampling_reference(c.args());
  CHECK(got.chosen.token == expected.token);
  CHECK(std::abs(got.chosen.logprob - expected.logprob) <= 1e-5F);
  wrong_elements wrong;
  for (size_t i = 0; i < c.top.size() && expected.token != no_token; ++i)
    wrong.check(
        got.top[i].token == c.top[i].token && std::abs(got.top[i].logprob - c.top[i].logprob) <= 1e-5F, i,
        c.top[i].token, got.top[i].token);
  CHECK(wrong == 0);
}

template <uint32_t Cluster>
void check_random(int rounds, uint32_t seed) {
  std::mt19937 random(seed);
  for (int i = 0; i < rounds; ++i) {
    const uint32_t vocabulary =
        i % 5 == 0 ? 1 + static_cast<uint32_t>(random() % 4) : 50 + static_cast<uint32_t>(random() % 3000);
    CAPTURE(seed);
    CAPTURE(i);
    CAPTURE(vocabulary);
    std::vector<kernels::sampling_case> cases;
    std::vector<sampling_args> samplings;
    for (int row = 0; row < 3; ++row) cases.emplace_back(vocabulary, i % 3 ? 8.0F : 0.5F, random);
    for (auto& c : cases) samplings.push_back(c.args());
    const auto got = choose<Cluster>(samplings, static_cast<uint32_t>(i));
    for (size_t row = 0; row < cases.size(); ++row) check_row(cases[row], got[row]);
  }
}

}  // namespace

TEST_CASE("sampling kernel: equals the reference for random parameters, penalties and biases") {
  check_random<1>(12, 1);
  check_random<4>(12, 2);
}

TEST_CASE("sampling kernel: an uncounted token counts as one more token of the output") {
  std::mt19937 random(3);
  int with_bias = 0, known = 0, fresh = 0, changed = 0;
  for (uint32_t round = 0; round < 30; ++round) {
    std::vector<kernels::sampling_case> cases;
    std::vector<sampling_args> samplings;
    std::vector<uint32_t> uncounted;
    for (int row = 0; row < 3; ++row) cases.emplace_back(300, 4.0F, random);
    for (size_t row = 0; row < cases.size(); ++row) {
      auto& c = cases[row];
      c.p.temperature = 0, c.p.frequency_penalty = 2;
      c.p.presence_penalty = random() % 2 == 0 ? 0 : 1;
      if (random() % 4 == 0) c.counts.clear();
      uint32_t which = sampling_reference(c.args()).token;  // the token with the most visible penalty
      if (random() % 4 == 0 && !c.counts.empty()) which = c.counts[random() % c.counts.size()].token;
      uncounted.push_back(row == 2 && round % 2 == 0 ? no_token : which);
    }
    for (auto& c : cases) samplings.push_back(c.args());
    const auto got = choose<4>(samplings, round, std::nullopt, uncounted);
    for (size_t row = 0; row < cases.size(); ++row) {
      auto& c = cases[row];
      const uint32_t which = uncounted[row], before = sampling_reference(c.args()).token;
      if (which != no_token) {
        const auto has = [which](const auto& x) { return x.token == which; };
        const auto found = std::ranges::find_if(c.counts, has);
        with_bias += std::ranges::any_of(c.biases, has);
        ++(found == c.counts.end() ? fresh : known);
        if (found != c.counts.end()) {
          ++found->output;
        } else {
          c.counts.push_back({which, 0, 1});
        }
      }
      changed += sampling_reference(c.args()).token != before;
      check_row(c, got[row]);
    }
  }
  CHECK((with_bias > 0 && known > 0 && fresh > 0 && changed > 20));
}

TEST_CASE("sampling kernel: top_k keeps the lower ids of equal tokens") {
  std::vector<float> logits(700, -3.0F);
  logits[3] = -infinity, logits[40] = logits[601] = logits[602] = logits[699] = 2;
  kernels::sampling_parameters greedy, few;
  greedy.temperature = 0;
  few.top_k = 3;
  std::vector<sampling_args> samplings{args_of(logits, greedy)};
  for (uint64_t position = 0; position < 12; ++position) samplings.push_back(args_of(logits, few, position));
  const auto got = choose<2>(samplings);
  CHECK(got[0].chosen.token == 40);
  bool seen[3] = {};
  for (size_t i = 1; i < got.size(); ++i) {
    const uint32_t token = got[i].chosen.token;
    CHECK((token == 40 || token == 601 || token == 602));
    CHECK(token == sampling_reference(samplings[i]).token);
    seen[token == 40 ? 0 : token - 600] = true;
  }
  CHECK((seen[0] && seen[1] && seen[2]));
}

TEST_CASE("sampling kernel: top_p keeps the fewest of equal tokens by id, with either sign of zero") {
  std::vector<float> logits(300, 0.0F);
  for (size_t i = 0; i < logits.size(); i += 2) logits[i] = -0.0F;
  kernels::sampling_parameters p;
  p.top_p = 0.02F;  // 6 of 300
  std::vector<sampling_args> samplings;
  for (uint64_t position = 0; position < 16; ++position) samplings.push_back(args_of(logits, p, position));
  const auto got = choose<2>(samplings);
  for (size_t i = 0; i < got.size(); ++i)
    CHECK(got[i].chosen.token == sampling_reference(samplings[i]).token);
}

TEST_CASE("sampling kernel: logits without a valid distribution give no token") {
  const float nan = std::nanf("");
  std::vector<float> fine(90, 1.0F), none(90, -infinity), too_much(90, 1.0F), no_number(90, 1.0F);
  too_much[70] = infinity, no_number[89] = nan;
  const kernels::token_bias never[] = {{0, -infinity}};
  std::vector<float> only(90, -infinity);
  only[0] = 3;
  kernels::sampling_parameters p;
  std::vector<sampling_args> samplings{args_of(none, p), args_of(too_much, p), args_of(no_number, p),
                                       args_of(only, p), args_of(only, p),     args_of(fine, p)};
  samplings[3].biases = never, samplings[3].bias_entries = 1;
  const auto got = choose<2>(samplings);
  for (int i = 0; i < 4; ++i) CHECK(got[static_cast<size_t>(i)].chosen.token == no_token);
  CHECK(got[4].chosen.token == 0);
  CHECK(got[4].chosen.logprob == 0);
  CHECK(got[5].chosen.token == sampling_reference(samplings[5]).token);
}

TEST_CASE("sampling kernel: extreme temperatures and logits give the reference's token") {
  std::vector<float> logits = {-3e38F, 1, 3e38F, -infinity, 2.9e38F, 5};
  std::vector<sampling_args> samplings;
  for (const float temperature : {1e-30F, 1e-3F, 1.0F, 1e30F}) {
    kernels::sampling_parameters p;
    p.temperature = temperature;
    for (uint64_t position = 0; position < 3; ++position) samplings.push_back(args_of(logits, p, position));
  }
  const auto got = choose<2>(samplings);
  for (size_t i = 0; i < got.size(); ++i)
    CHECK(got[i].chosen.token == sampling_reference(samplings[i]).token);
}

TEST_CASE("sampling kernel: uniform numbers 0, 1/2 and just below 1 select the right tokens") {
  std::vector<float> logits(500, -1.0F);
  for (size_t i = 0; i < 60; ++i) logits[i] = logits[499 - i] = -infinity;
  const auto sampling = args_of(logits, {});
  CHECK(choose<2>({sampling}, 1, 0.0)[0].chosen.token == 60);
  CHECK(choose<2>({sampling}, 2, 0.5)[0].chosen.token == 250);  // exactly half lies before it
  CHECK(choose<2>({sampling}, 3, 1 - 0x1p-53)[0].chosen.token == 439);
}

TEST_CASE("sampling kernel: the result does not depend on thread order, cluster size or batch") {
  std::mt19937 random(7);
  kernels::sampling_case c(2000, 4, random), other(2000, 4, random);
  c.p.temperature = 1, c.p.top_k = 300, c.p.top_p = 0.9F, c.p.min_p = 0;
  const auto alone = choose<1>({c.args()}, 1)[0].chosen;
  for (uint32_t order = 0; order < orders; ++order) {
    const auto got = choose<2>({other.args(), c.args()}, order)[1].chosen;
    CHECK(got.token == alone.token);
    CHECK(got.logprob == alone.logprob);
  }
}
