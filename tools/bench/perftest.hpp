// UCX's own benchmark, ucx_perftest, as the reference of measurements over UCX.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace troupe {

/// Pins this process, and its children, to one of its allowed CPUs, counted from 0: two spinning processes on
/// one CPU would measure the scheduler. The same for both sides of a comparison. Without effect if there is
/// no such CPU.
void pin_to_cpu(int which);

/// A run of ucx_perftest: `test` such as "ucp_get".
struct perftest_run {
  std::string test;
  size_t bytes = 0;
  int rounds = 1;
  int outstanding = 0;  ///< operations in flight; 0: the test's default
};

/// Microseconds per operation in the median, with the server on CPU 1 and the client on CPU 0, where this
/// process then stays. Throws std::runtime_error if it gives no figures.
double perftest(const perftest_run& run);
/// The same of `pairs` runs at once, on alternating CPUs.
std::vector<double> perftests_at_once(const perftest_run& run, int pairs);

/// Sorts. Requires: not empty.
double median(std::vector<double> values);

}  // namespace troupe
