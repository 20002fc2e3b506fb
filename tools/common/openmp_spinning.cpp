#include "tools/common/openmp_spinning.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace troupe {

void bound_openmp_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  // by its path: the kernel names a process after it
  std::error_code unknown;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (!unknown && ::setenv("GOMP_SPINCOUNT", "1000", 1) == 0) ::execv(self.c_str(), argv);
}

}  // namespace troupe
