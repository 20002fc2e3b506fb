#include "tools/client/http_client.hpp"

#include <charconv>
#include <utility>  // before Asio
//
#include <fmt/format.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <future>
#include <thread>
#include <unordered_set>
#include <vector>

#include "messages/common/host_port.hpp"

namespace troupe {

namespace net = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using net::ip::tcp;
using steady = std::chrono::steady_clock;

namespace {

constexpr size_t read_size = 16 << 10;
constexpr uint64_t response_limit = 1 << 30;
constexpr size_t min_chunk_bytes = 5;  // "0\r\n\r\n"; Beast asserts that a buffer has at least this size

/// A request in flight.
struct pending_call {
  http_request request;
  http_client::on_piece piece;  // may be empty
  http_client::on_done done;
};

void copy_head(const http::response_header<>& from, http_response& to) {
  to.status = from.result_int();
  for (const auto& field : from) to.headers.add(std::string(field.name_string()), std::string(field.value()));
  to.content_type = to.headers.find("Content-Type").value_or("");
}

struct connection {
  explicit connection(net::io_context& context) : socket(context) {}
  /// Whether the server has kept the connection open and no response is pending.
  bool usable() {
    char byte;
    error_code ec;
    socket.receive(net::buffer(&byte, 1), tcp::socket::message_peek, ec);
    return ec == net::error::would_block;
  }
  tcp::socket socket;
  boost::beast::flat_buffer buffer;
  steady::time_point deadline;
  bool expired = false;
};

std::string bytes_of(const http_request& r, const http_client_options& o) {
  std::string bytes;
  bytes.reserve(256 + r.body.size());
  auto out = std::back_inserter(bytes);
  fmt::format_to(out, "{} {}{}{} HTTP/1.1\r\nHost: {}\r\n", r.method, r.path, r.query.empty() ? "" : "?",
                 r.query, host_port(o.host, o.port));
  for (const auto& [name, value] : r.headers) fmt::format_to(out, "{}: {}\r\n", name, value);
  if (r.method != "GET" && r.method != "HEAD") fmt::format_to(out, "Content-Length: {}\r\n", r.body.size());
  bytes += "\r\n";
  bytes += r.body;
  return bytes;
}

}  // namespace

std::optional<http_url> parse_http_url(std::string_view url) {
  if (url.starts_with("http://")) url.remove_prefix(7);
  const auto slash = std::min(url.find('/'), url.size());
  http_url u{.host = {}, .port = 80, .path = std::string(url.substr(slash))};
  const auto authority = url.substr(0, slash);
  const auto bracket = authority.find(']');  // [::1]:8000
  const auto colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  u.host = authority.substr(0, std::min(colon, authority.size()));
  if (u.host.starts_with('[') && u.host.ends_with(']')) u.host = u.host.substr(1, u.host.size() - 2);
  if (u.host.empty()) return {};
  if (colon == std::string_view::npos) return u;
  const auto digits = authority.substr(colon + 1);
  const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), u.port);
  if (ec != std::errc{} || end != digits.data() + digits.size() || u.port == 0) return {};
  return u;
}

// The state below is used by the client's thread only.
struct http_client::state {
  explicit state(http_client_options o)
      : options(std::move(o)), sweeper(context), work(context.get_executor()) {
    net::co_spawn(context, sweep(), net::detached);
    thread = std::thread([this] { context.run(); });
  }
  ~state() {
    net::post(context, [this] {
      closing = true;
      sweeper.cancel();
      idle.clear();
      for (auto* c : busy) expire(*c);
      work.reset();
    });
    thread.join();
  }

  void start(pending_call e) {
    while (!idle.empty() && !idle.back()->usable()) idle.pop_back();
    std::shared_ptr<connection> c;
    if (!idle.empty()) {
      c = std::move(idle.back());
      idle.pop_back();
    } else if (busy.size() < options.max_connections && !closing) {
      c = std::make_shared<connection>(context);
    } else {
      e.done({.error = fmt::format("all {} connections are busy", options.max_connections), .response = {}});
      return;
    }
    c->deadline = steady::now() + options.timeout;
    busy.insert(c.get());
    net::co_spawn(context, perform(std::move(c), std::move(e)), net::detached);
  }

  net::awaitable<void> perform(std::shared_ptr<connection> c, pending_call e) {
    http_outcome outcome;
    http::response_parser<http::string_body> parser;
    parser.body_limit(response_limit);
    parser.skip(e.request.method == "HEAD");
    parser.eager(true);
    outcome.error = co_await exchange(*c, bytes_of(e.request, options), parser, e.piece);
    busy.erase(c.get());
    if (outcome.error.empty()) {
      if (parser.keep_alive() && c->buffer.size() == 0) idle.push_back(std::move(c));
      auto message = parser.release();
      copy_head(message, outcome.response);
      outcome.response.body = std::move(message.body());
    }
    e.done(std::move(outcome));
  }

  /// Returns the error; empty if the response is in `parser`.
  net::awaitable<std::string> exchange(connection& c, std::string bytes,
                                       http::response_parser<http::string_body>& parser,
                                       const on_piece& piece) {
    error_code ec;
    if (!c.socket.is_open()) {
      co_await connect(c, ec);
      if (ec) co_return failure(c, "cannot connect", ec);
    }
    const size_t sent = c.socket.write_some(net::buffer(bytes), ec);
    if (sent < bytes.size() && (!ec || ec == net::error::would_block))
      co_await net::async_write(c.socket, net::buffer(bytes.data() + sent, bytes.size() - sent),
                                net::redirect_error(net::use_awaitable, ec));
    if (ec) co_return failure(c, "cannot send", ec);
    http_response head;
    while (!parser.is_done()) {
      const size_t n = co_await c.socket.async_read_some(c.buffer.prepare(read_size),
                                                         net::redirect_error(net::use_awaitable, ec));
      c.buffer.commit(n);
      if (ec == net::error::eof && parser.is_header_done())
        parser.put_eof(ec);  // a body may end with its connection
      else if (ec)
        co_return failure(c, "no answer", ec);
      while (c.buffer.size() > 0 && !parser.is_done()) {
        if (parser.is_header_done() && parser.chunked() && c.buffer.size() < min_chunk_bytes) break;
        const size_t used = parser.put(c.buffer.data(), ec);
        c.buffer.consume(used);
        if (ec == http::error::need_more) ec = {};
        if (ec || used == 0) break;
      }
      if (ec == http::error::partial_message) co_return failure(c, "the answer broke off", ec);
      if (ec) co_return failure(c, "malformed answer", ec);
      if (!piece || !parser.is_header_done()) continue;
      if (head.headers.begin() == head.headers.end()) copy_head(parser.get(), head);
      auto& body = parser.get().body();
      if (!body.empty() && !piece(head, body)) {
        close(c);
        co_return std::string("broken off");
      }
      c.deadline = steady::now() + options.timeout;
    }
    co_return std::string();
  }

  net::awaitable<void> connect(connection& c, error_code& ec) {
    if (endpoints.empty()) {
      tcp::resolver resolver(context);
      const auto found = co_await resolver.async_resolve(options.host, std::to_string(options.port),
                                                         net::redirect_error(net::use_awaitable, ec));
      if (ec) co_return;
      endpoints.assign(found.begin(), found.end());
      if (c.expired) co_return void(ec = net::error::operation_aborted);
    }
    const auto targets = endpoints;
    co_await net::async_connect(c.socket, targets, net::redirect_error(net::use_awaitable, ec));
    if (ec) co_return;
    c.socket.set_option(tcp::no_delay(true), ec);
    c.socket.non_blocking(true, ec);
  }

  std::string failure(const connection& c, std::string_view what, const error_code& ec) const {
    const auto why = c.expired ? (closing ? "the client was closed" : "timed out") : ec.message();
    return fmt::format("{} ({}): {}", what, host_port(options.host, options.port), why);
  }

  net::awaitable<void> sweep() {
    const auto period = std::clamp<duration>(options.timeout / 8, 1ms, 100ms);
    for (error_code ec; !ec && !closing;) {
      sweeper.expires_after(period);
      co_await sweeper.async_wait(net::redirect_error(net::use_awaitable, ec));
      const auto now = steady::now();
      for (auto* c : busy)
        if (now >= c->deadline) expire(*c);
    }
  }

  static void expire(connection& c) {
    c.expired = true;
    close(c);
  }
  static void close(connection& c) {
    error_code ignored;
    c.socket.close(ignored);
  }

  http_client_options options;
  std::vector<tcp::endpoint> endpoints;
  std::unordered_set<connection*> busy;
  bool closing = false;
  net::io_context context{1};
  std::vector<std::shared_ptr<connection>> idle;
  net::steady_timer sweeper;
  net::executor_work_guard<net::io_context::executor_type> work;
  std::thread thread;
};

http_client::http_client(http_client_options options) : state_(std::make_unique<state>(std::move(options))) {}

http_client::~http_client() = default;

void http_client::send(http_request request, on_done done) {
  send(std::move(request), nullptr, std::move(done));
}

void http_client::send(http_request request, on_piece piece, on_done done) {
  net::post(state_->context,
            [s = state_.get(), e = pending_call{std::move(request), std::move(piece),
                                                std::move(done)}]() mutable { s->start(std::move(e)); });
}

http_outcome http_client::fetch(http_request request) {
  std::promise<http_outcome> promise;
  auto future = promise.get_future();
  send(std::move(request), [&](http_outcome o) { promise.set_value(std::move(o)); });
  return future.get();
}

}  // namespace troupe
