#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdlib>

#include "tests/sim/small_cluster.hpp"

int main(int, char** arguments) {
  const auto seed = std::strtoull(arguments[1], nullptr, 10);
  fmt::print("{:016x}\n", troupe::sim::faulty_run(seed).trace_hash);
}
