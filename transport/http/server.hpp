// HTTP/1.1 server: keep-alive, ordered pipelining, and a bound on every resource that a client could exhaust.
//
// A connection stays on one io thread and serves one request at a time. While a handler works, the connection
// watches for the client to disconnect. A client that has closed its sending side may have left: it has a
// short time for each answer. One of HEAD counts as gone once it has the head of a stream.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "messages/common/time.hpp"
#include "transport/http/message.hpp"
#include "transport/http/result.hpp"

namespace troupe {

/// Called on the io threads (concurrently if there are several); must not block them.
class http_handler {
 public:
  virtual ~http_handler() = default;
  /// Called when a request's header is complete, before its body is read or memory is taken for it. A
  /// returned response refuses the request: its body is not read, and if it has one, the connection is
  /// closed. May store findings in `head`; `handle` gets the same request.
  virtual std::optional<http_response> admit(http_request& /*head*/) { return {}; }
  /// Called for a request that could not be read: the answer to send before the connection is closed. `path`
  /// is empty if it is not known.
  virtual http_response refused(std::string_view /*path*/, const http_error& why) {
    return http_error_response(why.status, why.message);
  }
  /// Handles an admitted request. May answer at once, or keep `reply` and answer later from any thread.
  /// Throwing answers 500.
  virtual void handle(http_request request, http_reply reply) = 0;
};

struct http_server_options {
  std::string host = "127.0.0.1";  ///< an address to listen on, "0.0.0.0" or "::" for all
  uint16_t port = 0;               ///< 0: any free one
  uint32_t threads = 1;
  std::string port_setting = {};         ///< setting of the port, for messages: "http_port of node 'a'"
  uint32_t max_connections = 16384;      ///< 64 more get 503; beyond, closed at once
  uint32_t max_header_bytes = 32 << 10;  ///< beyond: 431
  uint64_t max_body_bytes = 64 << 20;    ///< of a request; beyond: 413
  /// Of all requests being read (body_budget.hpp); beyond: 503. Also of all answers that slow clients have
  /// not taken, at most 4 MiB per stream; beyond: closed.
  uint64_t max_bodies_bytes = 256 << 20;
  duration idle_timeout = 75s;    ///< between requests of a connection
  duration header_timeout = 10s;  ///< from the first byte of a request to the end of its headers; then 408
  duration body_timeout = 60s;    ///< from the end of the headers to the end of the body; then 408
  duration write_timeout = 60s;   ///< for a client to take its response, or the available part of a stream
  /// For an answer, or the next part of a stream, once the client has closed its sending side. It may have
  /// left: then the request is cancelled, or the next write fails.
  duration half_close_timeout = 1s;
};

/// The server cannot start; `what()` names the address and the fix.
class http_listen_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class http_server {
 public:
  /// Listens and serves. `handler` outlives the server. Throws http_listen_error.
  http_server(http_server_options options, http_handler& handler);
  /// Stops at once: requests in flight are cancelled.
  ~http_server();
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;

  uint16_t port() const;
  size_t connections() const;

  /// Stops accepting, closes idle connections, lets requests in flight finish (answered with
  /// `Connection: close`), then stops. True if all finished within `timeout`; the others were cancelled.
  bool drain(duration timeout);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe
