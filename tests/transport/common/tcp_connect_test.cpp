#include "transport/common/tcp_connect.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <vector>

#include "tests/deaf_listener.hpp"

using namespace troupe;

TEST_CASE("a connection is the caller's, and does not block") {
  const deaf_listener open(8);
  std::vector<int> seen;
  const auto c = connect_tcp("127.0.0.1", open.port(), 5s, [&](int s) {
    seen.push_back(s);
    return true;
  });
  REQUIRE(c.socket >= 0);
  CHECK((::fcntl(c.socket, F_GETFL) & O_NONBLOCK) != 0);
  CHECK(c.problem.empty());
  CHECK(seen == std::vector{c.socket});
  ::close(c.socket);
}

TEST_CASE("a refused connection, an unknown host and a silent one are told apart") {
  const auto closed = closed_port();
  const auto refused = connect_tcp("127.0.0.1", closed, 5s);
  CHECK(refused.socket < 0);
  CHECK(refused.refused);
  CHECK(refused.problem == "Connection refused");

  const auto unknown = connect_tcp("no such host", closed, 5s);
  CHECK(unknown.socket < 0);
  CHECK_FALSE(unknown.refused);
  CHECK(unknown.unknown);

  deaf_listener deaf(0);
  deaf.fill();
  const auto began = std::chrono::steady_clock::now();
  const auto silent = connect_tcp("127.0.0.1", deaf.port(), 200ms);
  const auto took = std::chrono::steady_clock::now() - began;
  CHECK(silent.socket < 0);
  CHECK_FALSE(silent.refused);
  CHECK_FALSE(silent.unknown);
  CHECK(silent.problem == "Connection timed out");
  CHECK(took >= 190ms);
  CHECK(took < 10s);
}

TEST_CASE("a connection that is no longer wanted is not tried") {
  const deaf_listener open(8);
  const auto c = connect_tcp("127.0.0.1", open.port(), 5s, [](int) { return false; });
  CHECK(c.socket < 0);
  CHECK(c.problem == "Operation canceled");
}
