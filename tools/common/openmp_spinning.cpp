#include "tools/common/openmp_spinning.hpp"

#include <unistd.h>

#include <cstdlib>

namespace troupe {

void bound_openmp_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  if (::setenv("GOMP_SPINCOUNT", "1000", 1) == 0) ::execv("/proc/self/exe", argv);
}

}  // namespace troupe
