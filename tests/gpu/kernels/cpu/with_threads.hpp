// How many threads OpenMP uses in a test.
#pragma once
#include <omp.h>

#include <algorithm>
#include <iterator>

namespace troupe::kernels {

/// Numbers of threads to try. ThreadSanitizer does not see OpenMP's own synchronisation, and reports every
/// loop.
#ifdef __SANITIZE_THREAD__
constexpr int thread_counts[] = {1};
#else
constexpr int thread_counts[] = {1, 2, 3};
#endif

/// Parallel loops of this scope use n threads, but no more than the largest of thread_counts.
struct with_threads {
  explicit with_threads(int n) : before(omp_get_max_threads()) {
    omp_set_num_threads(std::min(n, *std::max_element(std::begin(thread_counts), std::end(thread_counts))));
  }
  ~with_threads() { omp_set_num_threads(before); }
  with_threads(const with_threads&) = delete;
  with_threads& operator=(const with_threads&) = delete;
  int before;
};

}  // namespace troupe::kernels
