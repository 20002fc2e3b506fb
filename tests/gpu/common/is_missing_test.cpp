#include "gpu/common/is_missing.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/temporary_folder.hpp"

using namespace troupe;

TEST_CASE("a file that cannot be looked up is not missing") {
  const temporary_folder folder;
  const auto& at = folder.path;
  CHECK(is_missing(at / "nothing"));
  CHECK_FALSE(is_missing(at));
  std::filesystem::create_symlink(at / "loop", at / "loop");
  CHECK_FALSE(is_missing(at / "loop"));
  std::filesystem::create_symlink(at / "nothing", at / "dangling");
  CHECK(is_missing(at / "dangling"));
  CHECK_FALSE(is_missing(at / std::string(300, 'a')));
}
