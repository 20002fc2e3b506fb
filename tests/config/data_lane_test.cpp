#include "config/data_lane.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/config/cluster_text.hpp"

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

TEST_CASE(
    "the data lane runs over TLS between hosts with certificates, else over UCX, unless the file says") {
  const std::string near(good_cluster);
  const auto far = changed(near, "control_port = 7702", "control_port = 7702\nhost = \"10.0.0.1\"");
  const std::string certificates = "[security]\ncertificates = \"certs\"\n";
  const auto transport = [](const std::string& text) {
    const auto c = read(text);
    REQUIRE(c.ok());
    return transport_of(c.spec);
  };
  CHECK(transport(near) == data_transport::ucx);
  CHECK(transport(near + certificates) == data_transport::ucx);
  CHECK(transport(far + "[security]\ninsecure = true\n") == data_transport::ucx);
  CHECK(transport(far + certificates) == data_transport::tls);
  CHECK(transport(far + certificates + "[data_lane]\ntransport = \"ucx\"\n") == data_transport::ucx);
  CHECK(transport(near + certificates + "[data_lane]\ntransport = \"tls\"\n") == data_transport::tls);
  const auto refused = read(near + "[data_lane]\ntransport = \"tls\"\n");
  REQUIRE(refused.problems.size() == 1);
  CHECK(to_string(refused.problems[0]).find("data_lane.transport: needs certificates; make them") !=
        std::string::npos);
}
