#include <cstdio>
#include <memory>
#include <set>

#include "tests/sim/small_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

std::string hash_in_another_process(uint64_t seed) {
  const auto command = fmt::format("{} {}", SIM_TRACE, seed);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  char line[64] = {};
  REQUIRE(std::fgets(line, sizeof line, pipe.get()) != nullptr);
  return std::string(line).substr(0, 16);
}

}  // namespace

TEST_CASE("the same seed gives the same trace, also in another process") {
  for (const uint64_t seed : {1, 2, 3}) {
    const auto here = fmt::format("{:016x}", faulty_run(seed).trace_hash);
    CHECK(here == fmt::format("{:016x}", faulty_run(seed).trace_hash));
    CHECK(here == hash_in_another_process(seed));
    CHECK(here == hash_in_another_process(seed));
  }
}

TEST_CASE("different seeds give different traces") {
  std::set<uint64_t> hashes;
  for (uint64_t seed = 1; seed <= 20; ++seed) hashes.insert(faulty_run(seed).trace_hash);
  CHECK(hashes.size() == 20);
}
