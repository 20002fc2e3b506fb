#include "policies/scaling/multicast_problem.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "policies/common/random.hpp"
#include "tests/policies/scaling/multicast_problems.hpp"

using namespace troupe;

TEST_CASE("chain time: the paper's example of four hops") {
  chain_time time;
  std::vector<double> done;
  for (const double rate : {4., 1., 2., 8.}) done.push_back(time.add_hop(1 / rate, 10));
  CHECK(done == std::vector<double>{2.5, 10.25, 10.75, 10.875});
}

TEST_CASE("chain time: equals chunks that are stored and forwarded one by one") {
  random_stream random(1, "chain");
  for (int trial = 0; trial < 2000; ++trial) {
    const auto chunks = 1 + static_cast<uint32_t>(random.uniform() * 40);
    const auto hops = 1 + static_cast<size_t>(random.uniform() * 8);
    std::vector<double> arrived(chunks, 0);  // of each chunk at the tail
    chain_time time;
    for (size_t h = 0; h < hops; ++h) {
      const double chunk_ns = 1 + random.uniform() * 1e6;
      double link_free = 0;
      for (auto& a : arrived) a = link_free = std::max(a, link_free) + chunk_ns;
      CHECK(time.add_hop(chunk_ns, chunks) == doctest::Approx(arrived.back()).epsilon(1e-12));
    }
  }
}

TEST_CASE("a malformed multicast is refused") {
  const auto good = [] { return named_multicast({"S"}, {"T"}).mesh(100).problem; };
  CHECK_NOTHROW(check(good()));
  const auto refused = [&](auto&& spoil) {
    auto p = good();
    spoil(p);
    CHECK_THROWS_AS(check(p), std::invalid_argument);
  };
  refused([](auto& p) { p.bytes = 0; });
  refused([](auto& p) { p.chunks = 0; });
  refused([](auto& p) { p.lanes = 0; });
  refused([](auto& p) { p.sources = 0; });
  refused([](auto& p) { p.sources = 2; });
  refused([](auto& p) { p.gbit_per_s.pop_back(); });
  refused([](auto& p) { p.gbit_per_s[1] = -1; });
  refused([](auto& p) { p.gbit_per_s[1] = 1e-10; });
  refused([](auto& p) { p.domain_gbit_per_s = std::numeric_limits<double>::infinity(); });
}
