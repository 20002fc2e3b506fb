#include "config/one_host.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace troupe;

namespace {

bool one_host(const std::vector<std::string>& hosts) {
  std::vector<node_spec> nodes;
  for (const auto& h : hosts) nodes.emplace_back().host = h;
  return on_one_host(nodes);
}

}  // namespace

TEST_CASE("nodes with the same host, or with loopback addresses only, are on one host") {
  CHECK(one_host({"127.0.0.1"}));
  CHECK(one_host({"10.0.0.1", "10.0.0.1"}));
  CHECK(one_host({"127.0.0.1", "127.0.0.2", "::1"}));
}

TEST_CASE("nodes with different hosts need a network") {
  CHECK_FALSE(one_host({"10.0.0.1", "10.0.0.2"}));
  CHECK_FALSE(one_host({"127.0.0.1", "10.0.0.1"}));
  CHECK_FALSE(one_host({"10.0.0.1", "127.0.0.1"}));
}
