#include "tools/bench_fabric.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "transport/ucx_fabric.hpp"

extern char** environ;

namespace troupe {
namespace {

constexpr size_t pool_bytes = 8u << 20;
constexpr node_id near_node{0}, far_node{1};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Keeps this process, and what it starts, on the first or the second of the CPUs that it may use: two
/// spinning processes that happen to share one measure the scheduler. Alike for both sides of a comparison.
void pin(int which) {
  static const cpu_set_t allowed = [] {
    cpu_set_t set;
    ::sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  if (CPU_COUNT(&allowed) < 2) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || which-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

// ---- ours ----

/// Calls a function for every frame.
class listener final : public fabric_events {
 public:
  std::function<void()> on_any_frame;
  std::promise<std::string> lost;

  void on_frame(std::span<const std::byte>) override { on_any_frame(); }
  void on_lost(node_id, incarnation, std::string why) override { lost.set_value(std::move(why)); }
  void on_turn_end() override {}
  time_point tick_at() const override { return never; }
  void on_tick(time_point) override {}
};

ucx_options options_of(node_id self) {
  ucx_options o;
  o.self = self;
  o.life = incarnation{1};
  return o;
}

/// One datagram there, one back.
void tell(int fd, const std::string& text) {
  if (::send(fd, text.data(), text.size(), 0) < 0) throw std::runtime_error("the other process is gone");
}
std::string hear(int fd) {
  std::string text(65536, '\0');
  const ssize_t n = ::recv(fd, text.data(), text.size(), 0);
  if (n <= 0) throw std::runtime_error("the other process is gone");
  text.resize(static_cast<size_t>(n));
  return text;
}

/// The process that is measured against: sends every frame back until its socket closes.
void be_far(int fd) {
  pin(1);
  machine_clock clock;
  const auto carrier = make_ucx_fabric(options_of(far_node), clock);
  carrier->allocate(memory_kind::host, pool_bytes);
  listener events;
  events.on_any_frame = [&] { carrier->send(near_node, std::vector<std::byte>(64)); };
  carrier->start(events);
  tell(fd, carrier->address());
  carrier->connect(near_node, incarnation{1}, hear(fd));
  tell(fd, "ready");
  char end;
  static_cast<void>(::recv(fd, &end, 1, 0));
  carrier->stop();
}

class far_process {
 public:
  far_process() {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
      throw std::runtime_error("no socket pair");
    }
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("cannot fork");
    if (pid_ == 0) {
      ::close(fds[0]);
      try {
        be_far(fds[1]);
      } catch (const std::exception& e) {
        fmt::print(stderr, "bench fabric: {}\n", e.what());
        ::_exit(1);
      }
      ::_exit(0);
    }
    ::close(fds[1]);
    fd_ = fds[0];
  }
  ~far_process() {
    ::close(fd_);
    ::waitpid(pid_, nullptr, 0);
  }
  far_process(const far_process&) = delete;
  far_process& operator=(const far_process&) = delete;
  int fd() const { return fd_; }

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
};

class near_side {
 public:
  explicit near_side(int fd) : fabric_(make_ucx_fabric(options_of(near_node), clock_)) {
    events_.on_any_frame = [] {};
    fabric_->start(events_);
    const std::string address = hear(fd);
    tell(fd, fabric_->address());
    hear(fd);
    fabric_->connect(far_node, incarnation{1}, address);
  }
  ~near_side() { fabric_->stop(); }

  /// Microseconds one way: half the median round trip, from the fabric's thread to the fabric's thread.
  double latency(int rounds) {
    std::promise<void> done;
    std::vector<double> took;
    took.reserve(static_cast<size_t>(rounds));
    time_point sent;
    const auto ping = [&] {
      sent = clock_.now();
      fabric_->send(far_node, std::vector<std::byte>(64));
    };
    fabric_->post([&] {
      events_.on_any_frame = [&] {
        took.push_back(to_seconds(clock_.now() - sent) * 1e6 / 2);
        if (took.size() == static_cast<size_t>(rounds)) return done.set_value();
        ping();
      };
      ping();
    });
    wait(done.get_future());
    return median(std::move(took));
  }

  /// GB/s of pulls of `bytes` each, a few at a time: the median over groups of pulls.
  double pull_bandwidth(size_t bytes, int groups) {
    constexpr int group = 8, at_a_time = 4;
    // One target for all, on a page of its own, as ucx_perftest has.
    std::vector<std::byte> room(bytes + 8192);
    const auto page = (reinterpret_cast<uintptr_t>(room.data()) + 4095) & ~uintptr_t{4095};
    const std::span into(reinterpret_cast<std::byte*>(page), bytes);
    std::promise<void> done;
    bool failed = false;
    int asked = 0, ended = 0;
    std::vector<double> took;
    time_point began;
    std::function<void()> pull = [&] {
      ++asked;
      fabric_->pull(far_node, 0, into, [&](pull_status s) {
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
      for (int i = 0; i < at_a_time; ++i) pull();
    });
    wait(done.get_future());
    if (failed) throw std::runtime_error("a pull failed");
    return static_cast<double>(bytes) * group / median(std::move(took)) / 1e9;
  }

 private:
  void wait(std::future<void> done) {
    if (done.wait_for(60s) != std::future_status::ready) throw std::runtime_error("no answer for a minute");
  }

  machine_clock clock_;
  listener events_;
  std::unique_ptr<fabric> fabric_;
};

// ---- ucx_perftest ----

bool is_on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  const bool bound = fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&at), size) == 0 &&
                     ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) == 0;
  ::close(fd);
  if (!bound) throw std::runtime_error("no free port for ucx_perftest");
  return ntohs(at.sin_port);
}

pid_t spawn(const std::vector<std::string>& words, int output) {
  std::vector<char*> argv;
  for (const auto& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, output, 1);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int problem = ::posix_spawnp(&pid, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (problem != 0) throw std::runtime_error(fmt::format("cannot run {}", words[0]));
  return pid;
}

/// The median time of an operation, in microseconds, from the line of figures that `ucx_perftest -f -v`
/// prints: iterations, median latency, average latency, ...
std::optional<double> median_of(const std::string& output) {
  std::istringstream lines(output);
  std::optional<double> out;
  for (std::string line; std::getline(lines, line);) {
    double iterations, p50, average;
    if (std::sscanf(line.c_str(), " %lf,%lf,%lf,", &iterations, &p50, &average) == 3) out = p50;
  }
  return out;
}

/// Microseconds for one operation.
double perftest(const std::string& test, size_t bytes, int rounds) {
  const std::vector<std::string> words = {
      "ucx_perftest", "-t", test, "-s", std::to_string(bytes),      "-n", std::to_string(rounds),
      "-e",           "-f", "-v", "-p", std::to_string(free_port())};
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  pin(1);
  const pid_t server = spawn(words, nowhere);
  pin(0);
  ::close(nowhere);
  auto client_words = words;
  client_words.insert(client_words.begin() + 1, "127.0.0.1");
  std::optional<double> result;
  for (int attempt = 0; attempt < 20 && !result; ++attempt) {
    std::this_thread::sleep_for(100ms);  // until the server listens
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) break;
    const pid_t client = spawn(client_words, fds[1]);
    ::close(fds[1]);
    std::string output;
    char buffer[4096];
    for (ssize_t n; (n = ::read(fds[0], buffer, sizeof buffer)) > 0;)
      output.append(buffer, static_cast<size_t>(n));
    ::close(fds[0]);
    ::waitpid(client, nullptr, 0);
    result = median_of(output);
  }
  if (!result) ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  if (!result) throw std::runtime_error(fmt::format("ucx_perftest -t {} gave no figures", test));
  return *result;
}

// ---- the comparison ----

struct row {
  std::string name, unit;
  double value, reference;
};

template <class Ours, class Theirs>
row compare(const bench_fabric_options& options, std::string name, std::string unit, Ours ours,
            Theirs theirs) {
  std::vector<double> values, references;
  for (int i = 0; i < options.repetitions; ++i) {
    values.push_back(ours());
    references.push_back(theirs());
  }
  return {std::move(name), std::move(unit), median(std::move(values)), median(std::move(references))};
}

std::vector<row> measure(const bench_fabric_options& options) {
  pin(0);
  const far_process far;
  near_side here(far.fd());
  here.latency(1000);  // connects
  std::vector<row> rows;
  rows.push_back(compare(
      options, "active message, 64 B, one way", "us", [&] { return here.latency(20'000); },
      [] { return perftest("ucp_am_lat", 64, 20'000); }));
  for (const auto& [name, bytes, rounds] :
       {std::tuple{"pull, 256 KiB", size_t{256} << 10, 250}, {"pull, 4 MiB", size_t{4} << 20, 20}}) {
    rows.push_back(compare(
        options, name, "GB/s", [&, b = bytes, r = rounds] { return here.pull_bandwidth(b, r); },
        [b = bytes, r = rounds] { return static_cast<double>(b) / perftest("ucp_get", b, r * 8) / 1e3; }));
  }
  return rows;
}

}  // namespace

int bench_fabric(const bench_fabric_options& options) {
  if (!is_on_path("ucx_perftest")) {
    fmt::print(stderr, "bench fabric: ucx_perftest is not on the PATH; install the package ucx-utils\n");
    return 1;
  }
  // For both sides of every comparison, alike.
  ::setenv("UCX_TLS", options.transports.c_str(), 0);
  ::setenv("UCX_NET_DEVICES", "lo", 0);
  for (const auto& [name, value] : ucx_options{}.environment) ::setenv(name.c_str(), value.c_str(), 0);
  std::vector<row> rows;
  try {
    rows = measure(options);
  } catch (const std::exception& e) {
    fmt::print(stderr, "bench fabric: {}\n", e.what());
    return 1;
  }
  if (options.json) {
    nlohmann::json document{{"rows", nlohmann::json::array()}};
    for (const auto& r : rows) {
      document["rows"].push_back({{"name", r.name},
                                  {"value", r.value},
                                  {"unit", r.unit},
                                  {"reference", r.reference},
                                  {"ratio", r.value / r.reference}});
    }
    fmt::print("{}\n", document.dump(2));
    return 0;
  }
  fmt::print("UCX_TLS={}\n{:<32} {:>10} {:<5} {:>14} {:>7}\n", std::getenv("UCX_TLS"), "", "troupe", "",
             "ucx_perftest", "ratio");
  for (const auto& r : rows) {
    fmt::print("{:<32} {:>10.2f} {:<5} {:>14.2f} {:>7.2f}\n", r.name, r.value, r.unit, r.reference,
               r.value / r.reference);
  }
  return 0;
}

}  // namespace troupe
