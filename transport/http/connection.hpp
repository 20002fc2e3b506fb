// Connection of the HTTP server with one client. Private to server.cpp and connection.cpp: the only headers
// of the server that include Asio.
#pragma once
#include <utility>  // before Asio, whose awaitable.hpp uses std::exchange without it
//
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <unordered_set>

#include "transport/http/request_reader.hpp"
#include "transport/http/server.hpp"

namespace troupe {

class http_connection;
class pending_reply;

/// State shared by all connections of a server.
struct http_shared {
  http_server_options options;
  http_handler& handler;
  body_budget bodies{options.max_bodies_bytes};
  body_budget unsent{options.max_bodies_bytes};  ///< of answers that clients have not taken yet
  std::atomic<size_t> connections{0};
  std::atomic<size_t> serving{0};  ///< requests between their first byte and the end of their response
};

/// An io thread and its connections; touched by that thread only.
struct http_loop {
  explicit http_loop(http_shared& s) : shared(s) {}
  http_shared& shared;
  std::unordered_set<http_connection*> connections;
  bool draining = false;
  boost::asio::io_context context{1};  // last: its remaining handlers hold connections
};

/// Reads a request, waits for its answer, writes it, and again. Everything runs on the loop's thread.
class http_connection : public std::enable_shared_from_this<http_connection> {
 public:
  using clock_type = std::chrono::steady_clock;  // sockets need the machine's time

  http_connection(boost::asio::ip::tcp::socket socket, http_loop& loop);
  ~http_connection();

  /// Serves until the client leaves, a limit is hit, or the loop drains. The coroutine keeps a reference.
  static boost::asio::awaitable<void> run(std::shared_ptr<http_connection> self);
  /// Instead of serving, sends one refusal.
  static boost::asio::awaitable<void> refuse(std::shared_ptr<http_connection> self, http_response response);

  void wake() { wake_.cancel(); }
  void wake_from_any_thread();
  void close_from_any_thread();
  void expire(clock_type::time_point now);  ///< ends waits whose deadline has passed
  void close();

 private:
  enum class after { keep, leave, close };  // what to do with the connection after an answer
  boost::asio::awaitable<std::optional<http_received>> read_request();
  http_error late() const;
  http_response refused(const http_error& why);
  std::optional<http_response> admit();
  boost::asio::awaitable<after> answer(http_received& got);
  boost::asio::awaitable<void> wait_for(pending_reply& pending);
  boost::asio::awaitable<after> write_response(http_response response, const http_received& to);
  boost::asio::awaitable<after> write_stream(http_response head, pending_reply& pending,
                                             const http_received& to);
  boost::asio::awaitable<bool> write(std::string bytes);
  boost::asio::awaitable<void> answer_and_leave(http_response response);
  boost::asio::awaitable<void> leave();
  boost::asio::awaitable<bool> receive(bool likely);
  boost::asio::awaitable<void> sleep();
  void listen();
  void read_some();
  void stop_writing();
  void reset();
  bool over() const { return ended_ || expired_ || closed_; }
  void set_deadline(duration timeout) { deadline_ = clock_type::now() + timeout; }
  void set_serving(bool serving);

  http_loop& loop_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer wake_;    // never expires: a condition variable for the coroutine
  boost::beast::flat_buffer buffer_;  // bytes that the reader has not taken yet
  http_request_reader reader_;
  std::optional<http_response> refusal_;  // of the request that is being read
  clock_type::time_point deadline_ = clock_type::time_point::max();
  bool listening_ = false;  // an async_wait is out
  bool watching_ = false;   // a handler works: keep reading, to notice a disconnect
  bool writing_ = false;
  bool serving_ = false;  // counted in http_shared::serving
  bool leaving_ = false;  // the last answer has been sent
  bool eof_ = false;      // the client sends nothing more; it may still read
  clock_type::time_point heard_at_ = clock_type::time_point::max();  // the end, or a later successful write
  bool ended_ = false;                                               // the client's side
  bool expired_ = false;                                             // a deadline passed
  bool closed_ = false;                                              // our side
};

}  // namespace troupe
