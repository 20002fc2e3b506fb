#include "tools/node/file_limit.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

using namespace troupe;

TEST_CASE("file limit: too few files are a problem with the number that is needed") {
  CHECK(file_limit_problem("left", 20, 3) ==
        "node 'left' may open 20 files and needs at least 66: raise the limit (ulimit -Hn, LimitNOFILE)");
  CHECK(file_limit_problem("left", 65, 3) != "");
  CHECK(file_limit_problem("left", 66, 3) == "");
}

TEST_CASE("file limit: the soft limit is raised to the hard limit") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit lower{64, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &lower) == 0);
  const auto files = raise_file_limit();
  rlimit after{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &after) == 0);
  CHECK(after.rlim_cur == before.rlim_max);
  CHECK((files == after.rlim_cur || after.rlim_cur == RLIM_INFINITY));
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
}
