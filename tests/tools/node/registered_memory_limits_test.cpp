#include "tools/node/registered_memory_limits.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace troupe;

namespace {

constexpr uint64_t mib_of_memory = 1 << 20;

cluster_spec two_nodes_with_pools() {
  cluster_spec c;
  c.nodes.resize(2);
  c.nodes[0].name = "left", c.nodes[1].name = "right";
  c.limits.pool_bytes = 100 * mib_of_memory;
  return c;
}
const std::array both_nodes{node_id{0}, node_id{1}};

}  // namespace

TEST_CASE("registered memory limits: transports that share and that lock memory") {
  const auto use = [](std::string_view tls, bool shares, bool locks) {
    const auto u = memory_use_of(tls);
    CHECK_MESSAGE((u.shares == shares && u.locks == locks), tls);
  };
  use("posix,cma,tcp,self", true, false);
  use("tcp,self", false, false);
  use("rc,self", false, true);
  use("rc_x,sm", true, true);
  use("all", true, true);
  use("^tcp", true, true);
  use("^posix,ib", false, false);
  use("", false, false);
}

TEST_CASE("registered memory limits: too little shared memory for the nodes of a machine") {
  const auto c = two_nodes_with_pools();
  CHECK(memory_limit_problem(c, both_nodes, {}) == "");
  CHECK(memory_limit_problem(c, both_nodes, {216 * mib_of_memory, {}}) == "");
  CHECK(memory_limit_problem(c, both_nodes, {216 * mib_of_memory - 1, {}}) ==
        "/dev/shm has 215 MiB left, and 2 nodes of this host need 216 MiB there: enlarge it (mount -o "
        "remount,size=216m /dev/shm; docker run --shm-size=216m), or lower limits.pool_mb, parameter_mb or "
        "kv_mb");
  CHECK(memory_limit_problem(c, std::array{node_id{1}}, {150 * mib_of_memory, {}}) == "");
}

TEST_CASE("registered memory limits: a process may lock too little") {
  const auto c = two_nodes_with_pools();
  CHECK(memory_limit_problem(c, both_nodes, {{}, 100 * mib_of_memory}) == "");
  CHECK(memory_limit_problem(c, both_nodes, {{}, 8 * mib_of_memory}) ==
        "node 'left' locks 100 MiB for RDMA and may lock 8 MiB: raise the limit (ulimit -l, LimitMEMLOCK, "
        "--ulimit memlock=-1), or lower limits.pool_mb, its parameter_mb or kv_mb");
}
