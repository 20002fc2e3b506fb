#include "transport/http/server.hpp"

#include <pthread.h>

#include <algorithm>
#include <utility>  // before Asio
//
#include <fmt/format.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <thread>

#include "messages/common/host_port.hpp"
#include "transport/http/connection.hpp"

namespace troupe {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

namespace {

[[noreturn]] void cannot_listen(const http_server_options& o, const error_code& ec) {
  const char* fix = "choose another host or port";
  if (ec == net::error::address_in_use) fix = "stop the process that listens there, or choose another port";
  if (ec == net::error::access_denied) fix = "choose a port above 1023, or grant the right to bind this one";
  if (ec == net::error::invalid_argument)
    fix = "the host must be an address of this machine, such as 127.0.0.1, 0.0.0.0 or ::";
  if (ec == net::error::no_descriptors) fix = "raise the limit of open files (ulimit -n, LimitNOFILE)";
  const auto setting = o.port_setting.empty() ? "" : " (" + o.port_setting + ")";
  throw http_listen_error(
      fmt::format("cannot listen on {}{}: {}; {}", host_port(o.host, o.port), setting, ec.message(), fix));
}

struct io_thread : http_loop {
  explicit io_thread(http_shared& s) : http_loop(s), sweeper(context), work(context.get_executor()) {}
  net::steady_timer sweeper;
  bool over = false;  // stops the sweeper: cancelling a timer that has just expired has no effect
  net::executor_work_guard<net::io_context::executor_type> work;
  std::thread thread;
};

// Deadlines are coarse on purpose: one timer per thread walks the connections, instead of one timer per
// request.
net::awaitable<void> sweep(io_thread& loop) {
  const auto& o = loop.shared.options;
  const auto shortest = std::min({o.idle_timeout, o.header_timeout, o.body_timeout, o.write_timeout});
  const auto period = std::clamp<duration>(shortest / 4, 10ms, 500ms);
  while (!loop.over) {
    error_code ec;
    loop.sweeper.expires_after(period);
    co_await loop.sweeper.async_wait(net::redirect_error(net::use_awaitable, ec));
    const auto now = http_connection::clock_type::now();
    for (auto* c : loop.connections) c->expire(now);
  }
}

}  // namespace

struct http_server::state {
  state(http_server_options options, http_handler& handler);
  ~state() { stop(); }

  void listen();
  net::awaitable<void> accept();
  void welcome(io_thread& loop, tcp::socket socket);
  void stop();
  /// Runs `job` on every loop's thread and waits for all.
  template <class Job>
  void on_every_loop(Job job);

  http_shared shared;
  std::vector<std::unique_ptr<io_thread>> loops;
  std::unique_ptr<tcp::acceptor> acceptor;
  uint16_t port = 0;
  bool stopped = false;
};

http_server::state::state(http_server_options options, http_handler& handler)
    : shared{std::move(options), handler} {
  for (uint32_t i = 0; i < std::max(1u, shared.options.threads); ++i)
    loops.push_back(std::make_unique<io_thread>(shared));
  acceptor = std::make_unique<tcp::acceptor>(loops[0]->context);
  listen();
  net::co_spawn(loops[0]->context, accept(), net::detached);
  for (auto& loop : loops) {
    net::co_spawn(loop->context, sweep(*loop), net::detached);
    loop->thread = std::thread([&context = loop->context] {
      pthread_setname_np(pthread_self(), "http");
      context.run();
    });
  }
}

void http_server::state::listen() {
  const auto& o = shared.options;
  error_code ec;
  tcp::resolver resolver(loops[0]->context);
  const auto found = resolver.resolve(o.host, std::to_string(o.port),
                                      tcp::resolver::passive | tcp::resolver::numeric_service, ec);
  if (ec || found.empty()) cannot_listen(o, net::error::invalid_argument);
  const tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor->open(endpoint.protocol(), ec);
  if (!ec) acceptor->set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor->bind(endpoint, ec);
  if (!ec) acceptor->listen(net::socket_base::max_listen_connections, ec);
  if (ec) cannot_listen(o, ec);
  port = acceptor->local_endpoint().port();
}

net::awaitable<void> http_server::state::accept() {
  net::steady_timer pause(loops[0]->context);
  for (size_t next = 0;; next = (next + 1) % loops.size()) {
    auto& loop = *loops[next];
    tcp::socket socket(loop.context);
    error_code ec;
    co_await acceptor->async_accept(socket, net::redirect_error(net::use_awaitable, ec));
    if (!acceptor->is_open()) co_return;
    if (ec) {  // usually out of descriptors: let some close
      pause.expires_after(20ms);
      co_await pause.async_wait(net::redirect_error(net::use_awaitable, ec));
      continue;
    }
    // A refused client holds a descriptor until it has read its answer: bound their number.
    constexpr size_t max_refusals = 64;
    if (shared.connections >= shared.options.max_connections + max_refusals) continue;
    ++shared.connections;
    net::post(loop.context, [this, &loop, s = std::move(socket)]() mutable { welcome(loop, std::move(s)); });
  }
}

void http_server::state::welcome(io_thread& loop, tcp::socket socket) {
  auto connection = std::make_shared<http_connection>(std::move(socket), loop);
  if (shared.connections <= shared.options.max_connections) {
    net::co_spawn(loop.context, http_connection::run(std::move(connection)), net::detached);
    return;
  }
  auto refusal = http_error_response(
      503, fmt::format("all {} connections are taken; try again later", shared.options.max_connections));
  net::co_spawn(loop.context, http_connection::refuse(std::move(connection), std::move(refusal)),
                net::detached);
}

template <class Job>
void http_server::state::on_every_loop(Job job) {
  std::vector<std::future<void>> done;
  for (auto& loop : loops) {
    auto task = std::make_shared<std::packaged_task<void()>>([job, &loop = *loop] { job(loop); });
    done.push_back(task->get_future());
    net::post(loop->context, [task] { (*task)(); });
  }
  for (auto& d : done) d.wait();
}

void http_server::state::stop() {
  if (std::exchange(stopped, true)) return;
  net::post(loops[0]->context, [this] { acceptor->close(); });
  on_every_loop([](io_thread&) {});  // accepted sockets have been registered
  on_every_loop([](io_thread& loop) {
    loop.work.reset();
    loop.over = true;
    loop.sweeper.cancel();
    for (auto* c : loop.connections) c->close();
  });
  for (auto& loop : loops) loop->thread.join();
}

http_server::http_server(http_server_options options, http_handler& handler)
    : state_(std::make_unique<state>(std::move(options), handler)) {}

http_server::~http_server() = default;

uint16_t http_server::port() const { return state_->port; }

size_t http_server::connections() const { return state_->shared.connections; }

bool http_server::drain(duration timeout) {
  const auto give_up = std::chrono::steady_clock::now() + timeout;
  auto& s = *state_;
  if (s.stopped) return true;
  s.on_every_loop([&s](io_thread& loop) {
    if (&loop == s.loops[0].get()) s.acceptor->close();
    loop.draining = true;
    for (auto* c : loop.connections) c->wake();
  });
  s.on_every_loop([](io_thread&) {});  // woken connections have checked their sockets once more
  while (s.shared.serving > 0 && std::chrono::steady_clock::now() < give_up) std::this_thread::sleep_for(2ms);
  const bool finished = s.shared.serving == 0;
  s.stop();
  return finished;
}

}  // namespace troupe
