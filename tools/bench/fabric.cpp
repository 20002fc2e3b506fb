#include "tools/bench/fabric.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tools/bench/bare_tls.hpp"
#include "tools/bench/bench_folder.hpp"
#include "tools/bench/child_process.hpp"
#include "tools/bench/forked_process.hpp"
#include "tools/bench/lane.hpp"
#include "tools/bench/leased_pages.hpp"
#include "tools/bench/perftest.hpp"
#include "tools/bench/row.hpp"
#include "tools/bench/two_nodes.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"
#include "transport/tls/certificates.hpp"

namespace troupe {
namespace {

constexpr size_t pool_bytes = 8u << 20;
constexpr int pulls_at_once = 4;  // on both sides of the comparison

// ---- Troupe ----

/// Calls a function for every frame.
class listener final : public fabric_events {
 public:
  std::function<void()> on_any_frame;

  void on_frame(std::span<const std::byte>) override { on_any_frame(); }
  void on_lost(node_id, incarnation_id, std::string) override {}
  void on_turn_end() override {}
  time_point tick_at() const override { return never; }
  void on_tick(time_point) override {}
};

using between_two = std::function<std::unique_ptr<fabric>(node_id, const clock&)>;

/// The peer of the measurement: sends every frame back until its socket closes.
void run_far_side(int fd, const between_two& make) {
  pin_to_cpu(1);
  machine_clock clock;
  const auto carrier = make(far_node, clock);
  const leased_pages pages(*carrier, carrier->allocate(memory_kind::host, pool_bytes));
  listener events;
  events.on_any_frame = [&] { carrier->send(near_node, std::vector<std::byte>(64)); };
  carrier->start(events);
  send_text(fd, carrier->address());
  carrier->connect(near_node, incarnation_of_both, receive_text(fd));
  send_text(fd, pages.name());
  wait_for_close(fd);
  carrier->stop();
}

class near_side {
 public:
  near_side(int fd, const between_two& make) : fabric_(make(near_node, clock_)) {
    events_.on_any_frame = [] {};
    target_ = fabric_->allocate(memory_kind::host, pool_bytes);
    pages.emplace(*fabric_, clock_);
    fabric_->start(events_);
    const std::string address = receive_text(fd);
    send_text(fd, fabric_->address());
    pages->use(receive_text(fd));
    fabric_->connect(far_node, incarnation_of_both, address);
  }
  ~near_side() { fabric_->stop(); }

  /// One-way latency in microseconds: half the median round trip, from fabric thread to fabric thread.
  double latency(int rounds) {
    std::promise<void> done;
    std::vector<double> took;
    took.reserve(static_cast<size_t>(rounds));
    time_point sent;
    const auto ping = [&] { fabric_->send(far_node, std::vector<std::byte>(64)); };
    fabric_->post([&] {
      events_.on_any_frame = [&] {
        const time_point now = clock_.now();  // once a round, as ucx_perftest does
        took.push_back(to_seconds(now - std::exchange(sent, now)) * 1e6 / 2);
        if (took.size() == static_cast<size_t>(rounds)) return done.set_value();
        ping();
      };
      sent = clock_.now();
      ping();
    });
    wait(done.get_future());
    return median(std::move(took));
  }

  /// GB/s of pulls of `bytes` each, all from and to the same place, as in ucx_perftest: the median over
  /// groups of pulls.
  double pull_bandwidth(size_t bytes, int groups) {
    constexpr int group = 8;
    // A different place every time: the physical pages decide which bytes stay in the caches, and
    // ucx_perftest gets other pages with every run.
    const size_t place = pulled_++ % 8 * (pool_bytes / 16);
    const auto into = target_.bytes.subspan(place, bytes);
    std::promise<void> done;
    bool failed = false;
    int asked = 0, ended = 0;
    std::vector<double> took;
    time_point began;
    std::function<void()> pull = [&] {
      ++asked;
      fabric_->pull(far_node, place, into, [&](pull_status s) {
        failed = failed || s != pull_status::ok;
        if (++ended % group == 0) {
          const time_point now = clock_.now();
          took.push_back(to_seconds(now - std::exchange(began, now)));
        }
        if (asked < groups * group) pull();
        if (ended == groups * group) done.set_value();
      });
    };
    fabric_->post([&] {
      began = clock_.now();
      for (int i = 0; i < pulls_at_once; ++i) pull();
    });
    wait(done.get_future());
    if (failed) throw std::runtime_error("a pull failed");
    return static_cast<double>(bytes) * group / median(std::move(took)) / 1e9;
  }

  std::optional<page_puller> pages;

 private:
  void wait(std::future<void> done) {
    if (done.wait_for(60s) != std::future_status::ready) throw std::runtime_error("no answer for a minute");
  }

  machine_clock clock_;
  listener events_;
  std::unique_ptr<fabric> fabric_;
  registered_memory target_;
  size_t pulled_ = 0;
};

// ---- the comparison ----

template <class Ours, class Theirs>
bench_row compare(const bench_fabric_options& options, std::string name, std::string unit, Ours ours,
                  Theirs theirs) {
  std::vector<double> values, references;
  for (int i = 0; i < options.repetitions; ++i) {
    values.push_back(ours());
    references.push_back(theirs());
  }
  return {std::move(name), median(std::move(values)), std::move(unit), median(std::move(references))};
}

struct pull_case {
  const char* name;
  size_t bytes;
  int groups;
};
constexpr pull_case pull_cases[] = {{"pull, 256 KiB", size_t{256} << 10, 250},
                                    {"pull, 4 MiB", size_t{4} << 20, 20}};

constexpr int pulls_of_pages = 5;  // of all 64 MiB
constexpr std::pair<const char*, size_t> page_cases[] = {{"leased pull, 256 x 256 KiB", size_t{256} << 10},
                                                         {"leased pull, 4096 x 16 KiB", size_t{16} << 10}};

/// Pulls of 64 MiB, in pages and in one piece, against one piece by `reference()`.
template <class Reference>
void add_page_rows(const bench_fabric_options& options, page_puller& pages, Reference reference,
                   std::vector<bench_row>& rows) {
  for (const auto& [name, page_bytes] : page_cases)
    rows.push_back(compare(
        options, name, "GB/s", [&] { return pages.leased_bandwidth(page_bytes, pulls_of_pages); },
        reference));
  rows.push_back(compare(
      options, "pull, 64 MiB", "GB/s", [&] { return pages.whole_bandwidth(pulls_of_pages); }, reference));
  rows.push_back({"leased pull, cost of a range", pages.range_cost(4 * pulls_of_pages), "ns"});
}

/// UCX against its own benchmark.
std::vector<bench_row> measure_ucx(const bench_fabric_options& options) {
  // before there are threads
  const forked_process far([](int fd) { run_far_side(fd, ucx_between_two); }), far_lane(run_far_lane);
  const auto actors = measure_lane(far_lane.fd());
  pin_to_cpu(0);
  near_side here(far.fd(), ucx_between_two);
  here.latency(1000);  // connects
  std::vector<bench_row> rows;
  rows.push_back(compare(
      options, "active message, 64 B, one way", "us", [&] { return here.latency(20'000); },
      [] {
        return perftest({"ucp_am_lat", 64, 20'000, 0});
      }));
  for (const auto& p : pull_cases) {
    rows.push_back(compare(
        options, p.name, "GB/s", [&] { return here.pull_bandwidth(p.bytes, p.groups); },
        [&] {
          return static_cast<double>(p.bytes) / perftest({"ucp_get", p.bytes, p.groups * 8, pulls_at_once}) /
                 1e3;
        }));
  }
  add_page_rows(
      options, *here.pages,
      [] {
        return double{leased_bytes} / perftest({"ucp_get", leased_bytes, pulls_of_pages, 1}) / 1e3;
      },
      rows);
  rows.push_back({"actor to actor, one way, idle", actors.idle, "us"});
  rows.push_back({"actor to actor, back to back", actors.back_to_back, "us"});
  return rows;
}

/// TLS against UCX with the transports of UCX_TLS, and against a connection over TLS without a fabric.
std::vector<bench_row> measure_tls(const bench_fabric_options& options) {
  const bench_folder folder;
  const std::string certs = folder.path() / "certs";
  make_certificates(certs, "bench", {{"node", {"127.0.0.1"}}}, 1);
  const between_two tls = [certs](node_id node, const clock& clock) {
    return tls_between_two(node, certs, clock);
  };
  // before there are threads
  const forked_process far([&](int fd) { run_far_side(fd, tls); });
  const forked_process far_ucx([](int fd) { run_far_side(fd, ucx_between_two); });
  const forked_process far_tls([&](int fd) {
    pin_to_cpu(1);
    run_far_tls(fd, certs);
  });
  pin_to_cpu(0);
  bare_tls connection(far_tls.fd(), certs);
  near_side here(far.fd(), tls), reference(far_ucx.fd(), ucx_between_two);
  here.latency(1000);  // connects
  reference.latency(1000);
  std::vector<bench_row> rows;
  rows.push_back(compare(
      options, "frame, 64 B, one way", "us", [&] { return here.latency(20'000); },
      [&] { return reference.latency(20'000); }));
  for (const auto& p : pull_cases) {
    rows.push_back(compare(
        options, p.name, "GB/s", [&] { return here.pull_bandwidth(p.bytes, p.groups); },
        [&] { return reference.pull_bandwidth(p.bytes, p.groups); }));
  }
  add_page_rows(
      options, *here.pages, [&] { return reference.pages->whole_bandwidth(pulls_of_pages); }, rows);
  // The same bytes of the largest pull, by the connection and then by the fabric.
  const auto& p = std::end(pull_cases)[-1];
  rows.push_back(compare(
      options, "TLS connection alone, 4 MiB", "GB/s",
      [&] { return connection.bandwidth(8 * p.bytes, p.groups); },
      [&] { return reference.pull_bandwidth(p.bytes, p.groups); }));
  return rows;
}

}  // namespace

int bench_fabric(const bench_fabric_options& options) {
  if (!options.tls && !is_on_path("ucx_perftest")) {
    report("bench fabric: ucx_perftest is not on the PATH; install the package ucx-utils");
    return exit_failed;
  }
  ::signal(SIGPIPE, SIG_IGN);
  // For both sides of every comparison.
  ::setenv("UCX_TLS", options.tls ? "tcp,self" : options.transports.c_str(), 0);
  ::setenv("UCX_NET_DEVICES", "lo", 0);
  for (const auto& [name, value] : ucx_options{}.environment) ::setenv(name.c_str(), value.c_str(), 0);
  std::vector<bench_row> rows;
  try {
    rows = options.tls ? measure_tls(options) : measure_ucx(options);
  } catch (const std::exception& e) {
    report("bench fabric: {}", e.what());
    return exit_failed;
  }
  if (options.json) {
    const nlohmann::json document{{"rows", rows_json(rows)}};  // with sorted keys
    fmt::print("{}\n", document.dump(2));
    return exit_done;
  }
  fmt::print("UCX_TLS={}\n{:<32} {:>10} {:<5} {:>14} {:>7}\n", std::getenv("UCX_TLS"), "",
             options.tls ? "tls" : "troupe", "", options.tls ? "ucx" : "ucx_perftest", "ratio");
  for (const auto& r : rows) {
    fmt::print("{:<32} {:>10.2f} {:<5}", r.name, r.value, r.unit);
    if (r.reference) fmt::print(" {:>14.2f} {:>7.2f}", *r.reference, r.ratio());
    fmt::print("\n");
  }
  return exit_done;
}

}  // namespace troupe
