#include "transport/fabric/tls_fabric.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "transport/common/doorbell.hpp"
#include "transport/common/mapped_memory.hpp"
#include "transport/common/tcp_listener.hpp"
#include "transport/fabric/carrier.hpp"
#include "transport/fabric/driven_fabric.hpp"
#include "transport/fabric/tls/address.hpp"
#include "transport/fabric/tls/peers.hpp"
#include "transport/fabric/tls/shared_state.hpp"
#include "transport/tls/tls_dialler.hpp"
#include "transport/tls/tls_handshaker.hpp"

namespace troupe {
namespace {

using namespace tls;

constexpr tls_dialler::options dialling{.attempt = 2s, .total = 10s};
/// More than a cluster has nodes: all may dial at once.
constexpr size_t max_handshakes = 1024;
/// Bytes that a session reads ahead: several TLS records with one system call.
constexpr size_t read_ahead = 64u << 10;

class epoll_set {
 public:
  epoll_set() : fd_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "making an epoll set");
  }
  ~epoll_set() { ::close(fd_); }
  epoll_set(const epoll_set&) = delete;
  epoll_set& operator=(const epoll_set&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

/// Calls a function when its descriptor is ready.
class watcher final : public endpoint {
 public:
  watcher(int epoll, int fd, std::function<void()> act) : act_(std::move(act)) {
    add_to_epoll(epoll, fd, this);
  }
  bool ready() override {
    act_();
    return false;
  }

 private:
  const std::function<void()> act_;
};

class tls_carrier final : public carrier {
 public:
  tls_carrier(const tls_fabric_options& options, const clock& clock)
      : options_(options),
        context_(options.files, read_ahead),
        listener_(options.listen, options.first_port, options.last_port),
        peers_(shared_, clock, [this](uint32_t stream, const tls_address& at) { dial(stream, at); }),
        dialler_(context_, clock, dialling),
        handshaker_(context_, clock,
                    [this](const std::string& from, const std::string& why) {
                      if (options_.refused) options_.refused(from, why);
                    },
                    {.max_handshakes = max_handshakes}) {}

  registered_memory allocate(memory_kind kind, size_t bytes) override {
    if (!reaches(kind)) throw std::runtime_error("the TLS fabric registers host memory only");
    return shared_.memory.add(mapped_.emplace_back(bytes).bytes(), kind);
  }
  bool reaches(memory_kind kind) const override { return kind == memory_kind::host; }
  std::string address() const override {
    return encode(tls_address{options_.self, options_.incarnation, options_.secret, shared_.epoch,
                              shared_.memory.sizes(), listener_.port(), options_.host});
  }
  fabric_stats stats() const override { return shared_.count.read(); }

  void set_events(fabric_events* events) override { shared_.events = events; }
  void connect(node_id peer, incarnation_id incarnation, const std::string& address) override {
    peers_.connect(peer, incarnation, address);
  }
  void disconnect(node_id peer) override { peers_.disconnect(peer); }
  void renew() override { peers_.renew(); }
  void send(node_id to, std::vector<std::byte> frame) override { peers_.send(to, std::move(frame)); }
  void begin_pull(node_id from, pull_plan plan, pull_done done) override {
    peers_.pull(from, std::move(plan), std::move(done));
  }
  void break_all(const char* why) override { peers_.break_all(why); }

  unsigned progress() override;
  void flush() override;
  bool close_broken() override { return peers_.close_broken(); }
  bool needs_turn() const override { return shared_.attention || !shared_.unfinished.empty(); }
  int event_fd() const override { return epoll_.fd(); }
  bool arm() override {
    flush();
    return !needs_turn();
  }

  void leave_all() override { peers_.leave_all(); }
  bool parting() const override { return peers_.parting(); }
  void abandon() override { peers_.abandon(); }

 private:
  /// A connection after its handshake, or the failure of a dial.
  struct arrival {
    std::optional<uint32_t> stream;  ///< of the dial; nothing: the peer has dialled
    int socket = -1;
    std::unique_ptr<tls_session> session;
    std::string problem;
  };
  struct arrivals {
    std::mutex mutex;
    std::vector<arrival> waiting;
    ~arrivals() {
      for (const auto& a : waiting)
        if (a.socket >= 0) ::close(a.socket);
    }
  };

  void dial(uint32_t stream, const tls_address& at);
  void arrive(arrival a);
  void adopt_arrivals();
  void accept();
  unsigned call_unfinished();

  const tls_fabric_options options_;
  const tls_context context_;
  std::deque<mapped_memory> mapped_;
  epoll_set epoll_;
  shared_state shared_{.options = options_, .epoll = epoll_.fd()};
  tcp_listener listener_;
  doorbell bell_;
  watcher arrival_watcher_{epoll_.fd(), bell_.fd(), [this] { adopt_arrivals(); }};
  watcher listener_watcher_{epoll_.fd(), listener_.fd(), [this] { accept(); }};
  std::vector<endpoint*> called_;  ///< by `flush` and `call_unfinished`; kept for its memory
  peers peers_;

  arrivals arrivals_;
  tls_dialler dialler_;  // the threads of these two end before the rest is destroyed
  tls_handshaker handshaker_;
};

void tls_carrier::dial(uint32_t stream, const tls_address& at) {
  dialler_.dial(at.host, at.port,
                [this, stream](int socket, std::unique_ptr<tls_session> session, std::string problem) {
                  arrive({stream, socket, std::move(session), std::move(problem)});
                });
}

void tls_carrier::accept() {
  constexpr int at_once = 16;
  for (int i = 0; i < at_once; ++i) {
    const int socket = listener_.accept();
    if (socket < 0) return;
    handshaker_.start(socket, [this](int accepted, std::unique_ptr<tls_session> session) {
      arrive({{}, accepted, std::move(session), {}});
    });
  }
}

/// From the threads of handshakes to the fabric's.
void tls_carrier::arrive(arrival a) {
  {
    const std::lock_guard lock(arrivals_.mutex);
    arrivals_.waiting.push_back(std::move(a));
  }
  bell_.ring();
}

void tls_carrier::adopt_arrivals() {
  bell_.answer();
  std::vector<arrival> taken;
  {
    const std::lock_guard lock(arrivals_.mutex);
    taken.swap(arrivals_.waiting);
  }
  for (auto& a : taken) {
    if (a.stream)
      peers_.dialled(*a.stream, a.socket, std::move(a.session), a.problem);
    else
      peers_.accept(a.socket, std::move(a.session));
  }
}

unsigned tls_carrier::progress() {
  constexpr int at_once = 64;
  epoll_event events[at_once];
  flush();
  const int n = ::epoll_wait(epoll_.fd(), events, at_once, 0);
  for (int i = 0; i < n; ++i) {
    auto* e = static_cast<endpoint*>(events[i].data.ptr);
    if (e->ready()) shared_.call_again(*e);
  }
  const unsigned more = call_unfinished();
  flush();
  constexpr int small_message_bits = 12;
  const auto moved = std::exchange(shared_.moved, 0) >> small_message_bits;
  return static_cast<unsigned>(std::max(n, 0)) + more + static_cast<unsigned>(moved);
}

/// Writes what was sent.
void tls_carrier::flush() {
  called_.swap(shared_.unwritten);
  for (auto* e : called_) e->in_unwritten = false;
  for (auto* e : called_)
    if (e->write()) shared_.call_again(*e);
  called_.clear();
}

/// Goes on with what was interrupted. Returns how much that was.
unsigned tls_carrier::call_unfinished() {
  called_.swap(shared_.unfinished);
  for (auto* e : called_) e->in_unfinished = false;
  for (auto* e : called_)
    if (e->ready()) shared_.call_again(*e);
  const auto n = called_.size();
  called_.clear();
  return static_cast<unsigned>(n);
}

}  // namespace

std::unique_ptr<fabric> make_tls_fabric(const tls_fabric_options& options, const clock& clock) {
  return make_driven_fabric(std::make_unique<tls_carrier>(options, clock), options, clock);
}

}  // namespace troupe
