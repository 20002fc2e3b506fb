// An HTTP/1.1 client: many requests in flight to one server, one connection each, with keep-alive.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "messages/common/time.hpp"
#include "transport/http/message.hpp"

namespace troupe {

struct http_url {
  std::string host;
  uint16_t port = 80;
  std::string path;  ///< with its leading '/', or empty
};
/// Parses "http://HOST[:PORT][/PATH]" with an optional scheme; an IPv6 address is in brackets. Nothing if it
/// is invalid.
std::optional<http_url> parse_http_url(std::string_view url);

struct http_client_options {
  std::string host;
  uint16_t port = 80;
  uint32_t max_connections = 256;
  duration timeout = 30s;  ///< from send to the end of the response, or to the next piece of a body
};

/// How a request ended: with a response, or without one.
struct http_outcome {
  std::string error;  ///< why there is no response; empty if there is one
  http_response response;
  bool answered() const { return error.empty(); }
};

class http_client {
 public:
  using on_done = std::function<void(http_outcome)>;
  /// Called for each piece of a body. `head`: the response without its body. The callback may take bytes out
  /// of `body`; the rest is passed again with the next piece, or in the outcome. Returning false ends the
  /// request with the error "broken off".
  using on_piece = std::function<bool(const http_response& head, std::string& body)>;

  explicit http_client(http_client_options options);
  /// Ends the requests in flight with an error.
  ~http_client();
  http_client(const http_client&) = delete;
  http_client& operator=(const http_client&) = delete;

  /// From any thread. `done` is called once, on the client's thread, and must not block it.
  void send(http_request request, on_done done);
  /// The same for an answer with a streamed body: `piece` is called on the client's thread for each piece as
  /// it arrives.
  void send(http_request request, on_piece piece, on_done done);
  /// Sends and waits. Do not call it from `done`.
  http_outcome fetch(http_request request);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe
