// Where the fixtures are: in TROUPE_FIXTURES, for test programs that run away from the sources they were
// built from (tools/gpu_check), otherwise beside those sources.
#pragma once
#include <cstdlib>
#include <filesystem>

namespace troupe {

inline std::filesystem::path fixtures_folder() {
  const char* const moved = std::getenv("TROUPE_FIXTURES");
  return moved != nullptr ? moved : TROUPE_FIXTURES;
}

}  // namespace troupe
