// HTTP requests and responses without sockets, and the handles by which other threads answer.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messages/common/time.hpp"

namespace troupe {

/// Header fields in their order of arrival. Names compare without case; few, so lookup is a scan.
class http_headers {
 public:
  using field = std::pair<std::string, std::string>;
  http_headers() = default;
  http_headers(std::initializer_list<field> fields) : fields_(fields) {}

  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  /// The first value under this name; nothing if there is none.
  std::optional<std::string_view> find(std::string_view name) const;
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

 private:
  std::vector<field> fields_;
};

struct http_request {
  std::string method = "GET";  ///< in capitals
  std::string path = "/";      ///< as sent, before '?', not percent-decoded; without "http://host"
  std::string query;           ///< after '?'
  http_headers headers;
  std::string body;
  uint32_t tenant = 0;  ///< the caller, once it is known; as `request::tenant`
};

struct http_response {
  unsigned status = 200;
  std::string content_type = "application/json";
  http_headers headers;  ///< without Content-Type, Content-Length and Connection, which the server writes
  std::string body;
  bool compressible = true;  ///< compressed if that is worthwhile and the client accepts it
};

/// "Not Found" for 404; "Unknown" for a status that has no name here.
std::string_view http_reason(unsigned status);

/// {"error": message}, the form of every HTTP refusal; with "reason" unless it is empty. 429 and 503 carry
/// Retry-After, `retry_after` in whole seconds, at least one.
http_response http_error_response(unsigned status, std::string_view message, duration retry_after = 1s,
                                  std::string_view reason = {});

/// A string as JSON, in quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);

/// An answer whose body is written later. A large one takes milliseconds, which are spent on the connection's
/// thread instead of the sender's.
class response_writer {
 public:
  virtual ~response_writer() = default;
  /// Once, on any thread.
  virtual http_response write() = 0;
};

/// The response of the writer; 500 if it throws.
http_response written_by(response_writer& writer);

/// The server's side of an `http_reply`. Also implemented by tests and simulation. Thread-safe.
class http_exchange {
 public:
  virtual ~http_exchange() = default;
  virtual void respond(http_response response) = 0;
  /// The server calls the writer on the connection's thread, others at once.
  virtual void respond_with(std::unique_ptr<response_writer> writer) { respond(written_by(*writer)); }
  virtual void on_cancel(std::function<void()> call) = 0;
  /// The head of an answer whose body follows in pieces; its body is the first piece.
  virtual void begin(http_response head) = 0;
  /// The next piece.
  virtual void write(std::string piece) = 0;
  /// The end of the body. `whole` false: it is incomplete, and the client can tell.
  virtual void end(bool whole) = 0;
};

/// The right, and the duty, to send a body piece by piece, from any thread; one caller at a time. Pieces that
/// the client has not taken are kept up to the server's bounds; beyond, the client counts as gone. After the
/// client has gone calls have no effect. Destroyed without `end`, it breaks off the body.
class http_stream {
 public:
  explicit http_stream(std::shared_ptr<http_exchange> exchange) : exchange_(std::move(exchange)) {}
  http_stream(http_stream&&) = default;
  http_stream& operator=(http_stream&& other) noexcept {
    std::swap(exchange_, other.exchange_);
    return *this;
  }
  ~http_stream();

  /// Sends a piece at once, by itself.
  void write(std::string piece);
  void end();

 private:
  std::shared_ptr<http_exchange> exchange_;
};

/// The right, and the duty, to answer one request: once, from any thread, now or later. Destroyed unanswered,
/// it answers 500, so that no client waits for a forgotten request. May outlive the server.
class http_reply {
 public:
  explicit http_reply(std::shared_ptr<http_exchange> exchange) : exchange_(std::move(exchange)) {}
  http_reply(http_reply&&) = default;
  http_reply& operator=(http_reply&& other) noexcept {
    std::swap(exchange_, other.exchange_);
    return *this;
  }
  ~http_reply();

  /// Answers. A second answer, or one after the client has gone, has no effect.
  void send(http_response response);
  void send(std::unique_ptr<response_writer> writer);
  /// Begins an answer whose body follows in pieces; the body of `head` is the first. `on_cancel` stays in
  /// effect until the end of the body.
  http_stream begin(http_response head);
  /// `call` runs once if the client disconnects (or the server gives up) before the answer: on a server
  /// thread, or at once on the caller's if that has already happened. It must not block.
  void on_cancel(std::function<void()> call);

 private:
  std::shared_ptr<http_exchange> exchange_;
};

}  // namespace troupe
