#include "gpu/common/mapped_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <string>

#include "gpu/common/model_error.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;

TEST_CASE("a mapping keeps its bytes when it is moved") {
  const temporary_folder folder;
  folder.write("f", "abc");
  mapped_file first(folder.path / "f");
  mapped_file second(std::move(first));
  mapped_file third;
  third = std::move(second);
  REQUIRE(third.bytes().size() == 3);
  CHECK(third.bytes()[1] == std::byte{'b'});
}

TEST_CASE("an empty file is mapped as no bytes") {
  const temporary_folder folder;
  folder.write("f", "");
  CHECK(mapped_file(folder.path / "f").bytes().empty());
}

TEST_CASE("a file that is not regular is refused, a pipe without waiting for its writer") {
  const temporary_folder folder;
  const auto pipe = folder.path / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const auto none = folder.path / "none";
  CHECK_THROWS_WITH_AS(mapped_file{pipe}, (pipe.string() + ": is not a file").c_str(), model_error);
  CHECK_THROWS_WITH_AS(mapped_file{folder.path}, (folder.path.string() + ": is not a file").c_str(),
                       model_error);
  CHECK_THROWS_WITH_AS(mapped_file{none}, (none.string() + ": No such file or directory").c_str(),
                       model_error);
}

TEST_CASE("a text larger than its limit is not read") {
  const temporary_folder folder;
  folder.write("f", "abcd");
  CHECK(read_text(folder.path / "f", 4) == "abcd");
  CHECK_THROWS_WITH_AS(
      read_text(folder.path / "f", 3),
      ((folder.path / "f").string() + ": has 4 bytes, more than the 3 that such a file may have").c_str(),
      model_error);
}
