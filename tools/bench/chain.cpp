#include "tools/bench/chain.hpp"

#include <fmt/core.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gpu/common/fast_hash.hpp"
#include "policies/scaling/multicast_problem.hpp"
#include "tools/bench/chain_node.hpp"
#include "tools/bench/child_process.hpp"
#include "tools/bench/forked_process.hpp"
#include "tools/bench/perftest.hpp"
#include "tools/bench/row.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"
#include "transport/fabric/ucx_fabric.hpp"

namespace troupe {
namespace {

/// The processes of a chain.
class chain_processes {
 public:
  explicit chain_processes(const bench_chain_options& options) try {
    for (uint32_t i = 0; i <= options.hops; ++i)
      nodes_.push_back(
          std::make_unique<forked_process>([&options, i](int fd) { run_chain_node(fd, i, options); }));
    std::vector<std::string> addresses;
    for (const auto& n : nodes_) addresses.push_back(receive_text(n->fd()));
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (i > 0) send_text(nodes_[i]->fd(), addresses[i - 1]);
      if (i + 1 < nodes_.size()) send_text(nodes_[i]->fd(), addresses[i + 1]);
    }
  } catch (...) {
    end();
    throw;
  }
  ~chain_processes() { end(); }

  /// Seconds until the node after each hop has all bytes.
  std::vector<double> run() {
    for (size_t i = 0; i < nodes_.size(); ++i) ask(i, "begin");
    const auto began = ask(0, "go");
    std::vector<double> out;
    for (size_t i = 1; i < nodes_.size(); ++i) {
      int64_t at = 0;
      for (int wait = 0; (at = ask(i, "finish")) == 0; ++wait) {
        if (wait > 12'000) throw std::runtime_error("a chain did not end within a minute");
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      out.push_back(static_cast<double>(at - began) / 1e9);
    }
    return out;
  }
  void check_bytes() {
    for (size_t i = 1; i < nodes_.size(); ++i)
      if (ask(i, "hash") != ask(0, "hash"))
        throw std::runtime_error("the bytes of a target are not those of the source");
  }

 private:
  /// In reverse order: a process holds the sockets of those that were forked before it.
  void end() {
    while (!nodes_.empty()) nodes_.pop_back();
  }
  int64_t ask(size_t node, const char* command) {
    send_text(nodes_[node]->fd(), command);
    return std::stoll(receive_text(nodes_[node]->fd()));
  }
  std::vector<std::unique_ptr<forked_process>> nodes_;
};

/// Seconds until a chain with these bandwidths, in bytes/s, has moved all chunks over its last hop.
double predicted(const bench_chain_options& o, const std::vector<double>& bandwidths) {
  const auto chunks = static_cast<uint32_t>((o.bytes + o.chunk_bytes - 1) / o.chunk_bytes);
  chain_time time;
  double done = 0;
  for (const double b : bandwidths)
    done = time.add_hop(static_cast<double>(o.bytes) / chunks / b * 1e9, chunks) / 1e9;
  return done;
}

/// GB/s of one core.
double hashing_speed(uint64_t bytes) {
  std::vector<std::byte> memory(bytes);
  std::vector<double> took;
  uint64_t sum = 0;
  for (int i = 0; i < 5; ++i) {
    const auto began = std::chrono::steady_clock::now();
    sum += fast_hash(memory);
    took.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  if (sum == 1) report("");  // the hashes are used
  return static_cast<double>(bytes) / median(std::move(took)) / 1e9;
}

std::vector<bench_row> measure_chain(const bench_chain_options& o) {
  // before there are threads
  auto one = o;
  one.hops = 1;
  chain_processes hop(one);
  std::unique_ptr<chain_processes> chain;
  if (o.hops > 1) chain = std::make_unique<chain_processes>(o);
  const perftest_run reference{"ucp_get", o.bytes, 4, 1};
  const auto bytes = static_cast<double>(o.bytes);
  hop.run();  // connects, and touches the memory
  hop.check_bytes();
  std::vector<double> hops, gets, finishes, formulas;
  if (chain) chain->run();
  for (int i = 0; i < o.repetitions; ++i) {
    hops.push_back(bytes / hop.run()[0] / 1e9);
    gets.push_back(bytes / perftest(reference) / 1e3);
    if (!chain) continue;
    finishes.push_back(chain->run().back());
    std::vector<double> bandwidths;
    for (const double us : perftests_at_once(reference, static_cast<int>(o.hops)))
      bandwidths.push_back(bytes / us * 1e6);
    formulas.push_back(predicted(o, bandwidths));
  }
  std::vector<bench_row> rows;
  rows.push_back({"one hop", median(std::move(hops)), "GB/s", median(std::move(gets))});
  if (chain) {
    chain->check_bytes();
    rows.push_back(
        {fmt::format("{} hops", o.hops), median(std::move(finishes)), "s", median(std::move(formulas))});
  }
  rows.push_back({"hashing on one core", hashing_speed(o.bytes), "GB/s"});
  return rows;
}

}  // namespace

int bench_chain(const bench_chain_options& options) {
  if (!is_on_path("ucx_perftest")) {
    report("bench chain: ucx_perftest is not on the PATH; install the package ucx-utils");
    return exit_failed;
  }
  ::signal(SIGPIPE, SIG_IGN);
  // For both sides of every comparison.
  ::setenv("UCX_TLS", options.transports.c_str(), 0);
  ::setenv("UCX_NET_DEVICES", "lo", 0);
  for (const auto& [name, value] : ucx_options{}.environment) ::setenv(name.c_str(), value.c_str(), 0);
  std::vector<bench_row> rows;
  try {
    rows = measure_chain(options);
  } catch (const std::exception& e) {
    report("bench chain: {}", e.what());
    return exit_failed;
  }
  if (options.json) {
    fmt::print("{}\n", nlohmann::json{{"rows", rows_json(rows)}}.dump(2));
    return exit_done;
  }
  fmt::print("UCX_TLS={}, {} MiB in chunks of {} KiB, {} at a time\n{:<24} {:>10} {:<5} {:>14} {:>7}\n",
             std::getenv("UCX_TLS"), options.bytes >> 20, options.chunk_bytes >> 10, options.window, "",
             "troupe", "", "reference", "ratio");
  for (const auto& r : rows) {
    fmt::print("{:<24} {:>10.3f} {:<5}", r.name, r.value, r.unit);
    if (r.reference) fmt::print(" {:>14.3f} {:>7.2f}", *r.reference, r.ratio());
    fmt::print("\n");
  }
  return exit_done;
}

}  // namespace troupe
