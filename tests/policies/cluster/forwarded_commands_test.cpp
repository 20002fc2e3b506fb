#include "policies/cluster/forwarded_commands.hpp"

#include <doctest/doctest.h>

#include "tests/policies/cluster/three_nodes.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// Appends `name` to `log` once it is called.
forwarded_commands::answer append(std::string& log, char name) {
  return [&log, name](const change_reply&) { log += name; };
}

}  // namespace

TEST_CASE("forwarded_commands: a reply goes to the command with its token, once") {
  forwarded_commands f(8);
  f.begin({100});
  std::string log;
  const auto a = f.add(left_node, append(log, 'a')), b = f.add(right_node, append(log, 'b'));
  CHECK(a == 100);
  CHECK(b == 101);
  f.take(b)({});
  CHECK(log == "b");
  CHECK_FALSE(f.take(b));
  CHECK_FALSE(f.take(7));
}

TEST_CASE("forwarded_commands: the commands of a node that goes away are given back") {
  forwarded_commands f(3);
  std::string log;
  f.add(left_node, append(log, 'a'));
  const auto b = f.add(right_node, append(log, 'b'));
  f.add(left_node, append(log, 'c'));
  CHECK(f.full());
  for (const auto& reply : f.lose(left_node)) reply({});
  CHECK(log == "ac");
  CHECK_FALSE(f.full());
  CHECK(f.lose(left_node).empty());
  CHECK(f.take(b));
}
