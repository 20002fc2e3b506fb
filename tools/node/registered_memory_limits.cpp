#include "tools/node/registered_memory_limits.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <set>

#include "actors/kinds/kv_arena.hpp"
#include "config/data_lane.hpp"
#include "tools/node/node_images.hpp"
#include "transport/memory/abandoned_segments.hpp"

namespace troupe {
namespace {

/// Queues and receive buffers of UCX in shared memory, for each process.
constexpr uint64_t ucx_shared_bytes = uint64_t{8} << 20;

uint64_t mib(uint64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; }

/// The addresses of this host, as text.
std::set<std::string> own_addresses() {
  std::set<std::string> out{"localhost", "127.0.0.1", "::1"};
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) == 0) out.insert(name);
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return out;
  for (auto* i = list; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr) continue;
    const auto family = i->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    char text[NI_MAXHOST] = {};
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (getnameinfo(i->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0) out.insert(text);
  }
  freeifaddrs(list);
  return out;
}

bool has_rdma_device() {
  std::error_code failed;
  const std::filesystem::directory_iterator devices("/sys/class/infiniband", failed);
  return !failed && devices != std::filesystem::directory_iterator{};
}

}  // namespace

ucx_memory_use memory_use_of(std::string_view ucx_tls) {
  const bool others = ucx_tls.starts_with('^');  // all transports but these
  if (others) ucx_tls.remove_prefix(1);
  ucx_memory_use named;
  for (size_t at = 0; at <= ucx_tls.size();) {
    const auto end = std::min(ucx_tls.find(',', at), ucx_tls.size());
    const auto t = ucx_tls.substr(at, end - at);
    at = end + 1;
    const bool all = t == "all";
    named.shares = named.shares || all || t == "sm" || t == "shm" || t == "posix";
    named.locks = named.locks || all || t.starts_with("ib") || t.starts_with("rc") || t.starts_with("ud") ||
                  t.starts_with("dc");
  }
  return others ? ucx_memory_use{!named.shares, !named.locks} : named;
}

memory_limits limits_here(const cluster_spec& cluster) {
  memory_limits out;
  if (transport_of(cluster) != data_transport::ucx) return out;
  const char* given = std::getenv("UCX_TLS");
  const auto use = given == nullptr ? ucx_memory_use{true, false} : memory_use_of(given);
  struct statvfs shm {};
  if (use.shares && ::statvfs("/dev/shm", &shm) == 0 && shm.f_blocks > 0)
    out.shared = uint64_t{shm.f_bavail} * shm.f_frsize;
  rlimit locked{};
  if (use.locks && has_rdma_device() && ::getrlimit(RLIMIT_MEMLOCK, &locked) == 0 &&
      locked.rlim_cur != RLIM_INFINITY)
    out.locked = locked.rlim_cur;
  return out;
}

uint64_t registered_bytes(const cluster_spec& cluster, node_id node) {
  uint64_t images = 0;
  try {
    images = node_images(cluster, node).capacity();
  } catch (const std::exception&) {  // the node itself names the file
  }
  return cluster.limits.pool_bytes + images + kv_arena_bytes(cluster, node);
}

std::string memory_limit_problem(const cluster_spec& cluster, std::span<const node_id> nodes,
                                 const memory_limits& limits) {
  if (!limits.shared && !limits.locked) return {};
  uint64_t all = 0;
  for (const auto n : nodes) {
    const auto bytes = registered_bytes(cluster, n);
    all += bytes + ucx_shared_bytes;
    if (limits.locked && bytes > *limits.locked)
      return fmt::format(
          "node '{}' locks {} MiB for RDMA and may lock {} MiB: raise the limit (ulimit -l, LimitMEMLOCK, "
          "--ulimit memlock=-1), or lower limits.pool_mb, its parameter_mb or kv_mb",
          node_name(cluster, n), mib(bytes), *limits.locked >> 20);
  }
  if (limits.shared && all > *limits.shared)
    return fmt::format(
        "/dev/shm has {} MiB left, and {} of this host need{} {} MiB there: enlarge it (mount -o "
        "remount,size={}m /dev/shm; docker run --shm-size={}m), or lower limits.pool_mb, parameter_mb or "
        "kv_mb",
        *limits.shared >> 20, nodes.size() == 1 ? "a node" : fmt::format("{} nodes", nodes.size()),
        nodes.size() == 1 ? "s" : "", mib(all), mib(all), mib(all));
  return {};
}

/// Starts that were killed within the last minute may still be seen by the next start.
void remove_abandoned_memory() {
  const auto removed =
      remove_abandoned_segments("/dev/shm", std::filesystem::file_time_type::clock::now() - 1min);
  if (removed.count > 0)
    spdlog::info("event=shared_memory_removed segments={} bytes={}", removed.count, removed.bytes);
}

std::vector<node_id> nodes_here(const cluster_spec& cluster) {
  const auto here = own_addresses();
  std::vector<node_id> out;
  for (uint32_t i = 0; i < cluster.nodes.size(); ++i)
    if (here.contains(cluster.nodes[i].host)) out.push_back(node_id{i});
  return out;
}

}  // namespace troupe
