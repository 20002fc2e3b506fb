#include "tools/node/up.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "policies/cluster/restart_policy.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"
#include "tools/node/registered_memory_limits.hpp"
#include "transport/common/available_memory.hpp"

namespace troupe {
namespace {

/// Time for a process to end after the drain_timeout.
constexpr duration time_to_end = 5s;

struct child {
  node_id node;
  pid_t pid = -1;
  int out = -1;       ///< its standard output; -1 once closed
  std::string text;   ///< an incomplete line
  std::string ready;  ///< its ready line
  restart_policy policy{{}};
  time_point started;
  time_point restart_at = never;  ///< `never`: no restart is due
  uint32_t restarts = 0;
  std::string last_end;  ///< how the process before the last restart ended
  bool stop_sent = false;
  time_point kill_at = never;  ///< kill it at that time; `never`: it is not being stopped
  bool alive() const { return pid > 0; }
  /// Whether the next rank waits for its end; not for one that was sent SIGKILL, as it may end late.
  bool blocks_next_rank() const { return alive() && (!stop_sent || kill_at != never); }
  bool finished() const { return !alive() && out < 0 && restart_at == never; }
};

/// Rank of a node in the order of the shutdown: gateways first, as they accept requests, and workers last.
/// Standbys stop before the scheduler, so that they do not take over.
int stop_rank(const node_spec& n) {
  return n.has(node_role::gateway) ? 0 : n.has(node_role::standby) ? 1 : n.has(node_role::scheduler) ? 2 : 3;
}

restart_policy::options restart_options(const restart_spec& r) {
  restart_policy::options o;
  o.max_delay = r.max_delay;
  o.steady = std::max(o.steady, 2 * r.max_delay);
  o.give_up_after = r.give_up_after;
  return o;
}

void start(child& c, const cluster_spec& cluster, const up_options& options) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0)
    throw std::runtime_error("cannot make a pipe: " + std::string(std::strerror(errno)));
  const auto offset = fmt::format("{}", to_ms(options.clock_offset));
  std::vector<std::string> words{"troupe",
                                 "up",
                                 options.file,
                                 "--node",
                                 node_name(cluster, c.node),
                                 "--clock-offset-ms",
                                 offset,
                                 "--restarts",
                                 std::to_string(c.restarts)};
  if (c.restarts > 0) words.insert(words.end(), {"--last-end", c.last_end});
  if (options.json) words.push_back("--json");
  if (options.verbose) words.push_back("--verbose");
  std::vector<char*> arguments;
  for (auto& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) {
    const std::string why = std::strerror(errno);
    for (const int end : pipe_ends) close(end);
    throw std::runtime_error("cannot start a process: " + why);
  }
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // the node must not outlive a supervisor that was killed
    setpgid(0, 0);                     // Ctrl-C goes to the supervisor only, which stops the nodes in order
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGHUP);  // until the node handles it: a reload of the keys must not kill it
    sigprocmask(SIG_SETMASK, &held, nullptr);
    dup2(pipe_ends[1], STDOUT_FILENO);
    execv("/proc/self/exe", arguments.data());
    _exit(127);
  }
  close(pipe_ends[1]);
  if (c.out >= 0) close(c.out);
  c.pid = pid;
  c.out = pipe_ends[0];
  c.text.clear();
  c.restart_at = never;
  c.stop_sent = false;
}

std::string how_it_ended(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("ended with exit code {}", WEXITSTATUS(status));
  const char* name = sigabbrev_np(WTERMSIG(status));
  return name ? fmt::format("was killed by SIG{}", name)
              : fmt::format("was killed by signal {}", WTERMSIG(status));
}

/// Whether the process drained or was stopped by SIGTERM or SIGINT.
bool stopped_on_request(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status) == 0;
  return WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGINT;
}

class process_supervisor {
 public:
  process_supervisor(const cluster_spec& cluster, const up_options& options)
      : cluster_(cluster), options_(options) {
    sigset_t set;
    sigemptyset(&set);
    for (int s : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&set, s);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    signals_ = signalfd(-1, &set, SFD_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);  // a reader of the log that ends does not end the cluster
  }
  ~process_supervisor() {
    for (auto& c : children_)
      if (c.alive()) kill(c.pid, SIGKILL);
    close(signals_);
  }

  int run() {
    const auto here = nodes_here(cluster_);
    for (const auto n : here) {
      auto& c = children_.emplace_back();
      c.node = n;
      c.policy = restart_policy(restart_options(cluster_.restart));
    }
    if (children_.empty()) {
      report("troupe: no node of the cluster file is on this host");
      return exit_failed;
    }
    const auto pools = children_.size() * cluster_.limits.pool_bytes;
    if (const auto room = available_memory(); room && pools > *room) {
      report(
          "troupe: limits.pool_mb: {} nodes of this host take {} MiB each, and it has {} MiB of memory "
          "left; lower it",
          children_.size(), cluster_.limits.pool_bytes >> 20, *room >> 20);
      return exit_bad_input;
    }
    remove_abandoned_memory();
    if (const auto why = memory_limit_problem(cluster_, here, limits_here(cluster_)); !why.empty()) {
      report("troupe: {}", why);
      return exit_bad_input;
    }
    for (auto& c : children_) {
      c.started = clock_.now();
      start(c, cluster_, options_);
    }
    while (!std::all_of(children_.begin(), children_.end(), [](const child& c) { return c.finished(); }))
      wait();
    return exit_code_;
  }

 private:
  /// Signals within this time are one request: timeout(1) and some supervisors signal a process and its
  /// group.
  static constexpr duration one_request = 1s;

  void wait() {
    std::vector<pollfd> fds{{signals_, POLLIN, 0}};
    for (const auto& c : children_)
      if (c.out >= 0) fds.push_back({c.out, POLLIN, 0});
    auto next = never;
    for (const auto& c : children_) next = std::min({next, c.restart_at, c.kill_at});
    const auto left = next == never ? -1ms : std::max(next - clock_.now(), duration{0}) + 1ms;
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
    if (poll(fds.data(), fds.size(), static_cast<int>(limit)) < 0) return;
    for (auto& c : children_)
      if (c.restart_at <= clock_.now()) restart(c);
    for (auto& c : children_) {
      const auto it =
          std::find_if(fds.begin() + 1, fds.end(), [&](const pollfd& f) { return f.fd == c.out; });
      if (c.out >= 0 && it != fds.end() && it->revents != 0) read_line(c);
    }
    if ((fds[0].revents & POLLIN) != 0) on_signal();
    for (auto& c : children_)
      if (c.kill_at <= clock_.now()) kill_unresponsive(c);
  }

  /// A failure to start, for lack of processes or file descriptors, counts as another death.
  void restart(child& c) {
    c.started = clock_.now();
    try {
      start(c, cluster_, options_);
    } catch (const std::exception& e) {
      back_off(c, fmt::format("was not started: {}", e.what()));
    }
  }

  void read_line(child& c) {
    char buffer[512];
    const auto n = read(c.out, buffer, sizeof buffer);
    if (n <= 0) {
      close(c.out);
      c.out = -1;
      return;
    }
    if (!c.ready.empty()) return;
    c.text.append(buffer, static_cast<size_t>(n));
    const auto end = c.text.find('\n');
    if (end == std::string::npos) return;
    c.ready = c.text.substr(0, end);
    if (c.ready.find(options_.json ? R"("ready":true)" : "troupe: ready") == std::string::npos) {
      c.ready.clear();  // with --json also the reason for its end
      return;
    }
    const bool all =
        std::all_of(children_.begin(), children_.end(), [](const child& x) { return !x.ready.empty(); });
    if (!all || std::exchange(announced_, true)) return;
    const auto gateway = std::find_if(children_.begin(), children_.end(), [&](const child& x) {
      return cluster_.nodes[x.node.value].has(node_role::gateway);
    });
    std::puts((gateway != children_.end() ? *gateway : children_.front()).ready.c_str());
    std::fflush(stdout);
    std::clearerr(stdout);  // if nobody reads the line, the cluster serves all the same
  }

  void on_signal() {
    signalfd_siginfo info{};
    if (read(signals_, &info, sizeof info) != sizeof info) return;
    if (info.ssi_signo == SIGCHLD) return reap();
    if (info.ssi_signo == SIGHUP) {  // each node reads its keys again
      for (const auto& c : children_)
        if (c.alive()) kill(c.pid, SIGHUP);
      return;
    }
    stopping_ = true;
    for (auto& c : children_) c.restart_at = never;
    const auto now = clock_.now();
    if (stop_requested_at_ == never) {
      stop_requested_at_ = now;
      return stop_next_rank();
    }
    if (now < stop_requested_at_ + one_request) return;
    for (auto& c : children_)  // the second request kills
      if (c.alive()) kill(c.pid, SIGKILL);
  }

  void reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto c =
          std::find_if(children_.begin(), children_.end(), [&](const child& x) { return x.pid == pid; });
      if (c == children_.end()) continue;
      c->pid = -1;
      c->kill_at = never;
      on_exit(*c, status);
    }
    if (stopping_) stop_next_rank();
  }

  void on_exit(child& c, int status) {
    const bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    const auto how = how_it_ended(status);
    if (stopping_) {
      if (clean) return;
      if (exit_code_ != exit_bad_input) exit_code_ = exit_failed;
      if (announced_) say(c, how);  // otherwise the cause is another node, already reported
      return;
    }
    if (!announced_) {  // a startup failure: there is no service to keep alive
      const bool said = WIFEXITED(status) && WEXITSTATUS(status) == exit_bad_input;
      exit_code_ = said ? exit_bad_input : exit_failed;
      stopping_ = true;
      if (said) return;  // what is wrong, in its own line
      return say(c, how + " before the cluster was ready; stopping the others");
    }
    if (stopped_on_request(status)) return say(c, how + "; " + restart_hint(c));
    if (options_.restart) {
      ++c.restarts;
      return back_off(c, how);
    }
    exit_code_ = exit_failed;
    say(c, how + "; " + restart_hint(c));
  }

  /// Schedules a restart, unless the cluster file limits the deaths in a row.
  void back_off(child& c, const std::string& how) {
    const auto now = clock_.now();
    c.restart_at = c.policy.died(c.started, now);
    c.last_end = how;
    const auto deaths = c.policy.deaths_in_a_row();
    if (c.restart_at != never) {
      const auto count = deaths > 1 ? fmt::format(" (death {} in a row)", deaths) : "";
      return say(
          c, fmt::format("{}; starting it again in {:.1f} s{}", how, to_seconds(c.restart_at - now), count));
    }
    exit_code_ = exit_failed;
    say(c,
        fmt::format("{}, {} times in a row, and stays down, as restart.give_up_after says; the other nodes "
                    "continue. After fixing the cause, {}",
                    how, deaths, restart_hint(c)));
  }

  const std::string& name_of(const child& c) const { return node_name(cluster_, c.node); }
  void say(const child& c, const std::string& what) const {
    report("troupe: node '{}' {}", name_of(c), what);
  }
  std::string restart_hint(const child& c) const {
    return fmt::format("start it again with: troupe up {} --node {}", options_.file, name_of(c));
  }

  /// Sends SIGTERM to the living nodes of the lowest rank; the next rank follows when they have ended.
  void stop_next_rank() {
    const auto rank_of = [&](const child& c) { return stop_rank(cluster_.nodes[c.node.value]); };
    int rank = 3;
    for (const auto& c : children_)
      if (c.blocks_next_rank()) rank = std::min(rank, rank_of(c));
    for (auto& c : children_) {
      if (!c.alive() || rank_of(c) != rank || std::exchange(c.stop_sent, true)) continue;
      kill(c.pid, SIGTERM);
      c.kill_at = clock_.now() + stop_timeout();
    }
  }

  duration stop_timeout() const { return cluster_.limits.drain_timeout + time_to_end; }

  /// A frozen process ignores SIGTERM and would block the next rank.
  void kill_unresponsive(child& c) {
    say(c,
        fmt::format("did not end within {} s after the stop signal; killing it", to_seconds(stop_timeout())));
    c.kill_at = never;
    kill(c.pid, SIGKILL);
    stop_next_rank();
  }

  const cluster_spec& cluster_;
  const up_options& options_;
  const machine_clock clock_;
  int signals_ = -1;
  std::vector<child> children_;
  bool announced_ = false;                // the ready line is printed
  bool stopping_ = false;                 // for any reason
  time_point stop_requested_at_ = never;  // by a signal
  int exit_code_ = exit_done;
};

}  // namespace

int up(const cluster_spec& cluster, const up_options& options) {
  try {
    return process_supervisor(cluster, options).run();
  } catch (const std::exception& e) {
    report("troupe: {}", e.what());
    return exit_failed;
  }
}

}  // namespace troupe
