// An HTTP exchange without its sockets: what came, what goes, and the handle that joins the two across
// threads.
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
  uint32_t tenant = 0;  ///< who asks, set once that is known; as `request::tenant`
};

struct http_response {
  unsigned status = 200;
  std::string content_type = "application/json";
  http_headers headers;  ///< besides Content-Type, Content-Length and Connection, which the server writes
  std::string body;
};

/// "Not Found" for 404; "Unknown" for a status that has no name here.
std::string_view http_reason(unsigned status);

/// {"error": message}: every refusal of the HTTP face has this shape; with "reason", unless it is empty. 429
/// and 503 invite to come again after `retry_after`, told in whole seconds, one at least.
http_response http_error_response(unsigned status, std::string_view message, duration retry_after = 1s,
                                  std::string_view reason = {});

/// A string as JSON, in quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);

/// An answer whose body is still to be written. That takes milliseconds if it is large: the time of the
/// connection's thread, not of the sender's.
class response_writer {
 public:
  virtual ~response_writer() = default;
  /// Once, on any thread.
  virtual http_response write() = 0;
};

/// What it writes; 500 if it throws.
http_response written_by(response_writer& writer);

/// The server's side of an `http_reply`; whoever answers requests behind other fronts (tests, simulation)
/// implements it too. Thread-safe.
class http_exchange {
 public:
  virtual ~http_exchange() = default;
  virtual void respond(http_response response) = 0;
  /// The server has it written on the thread of the connection, others at once.
  virtual void respond_with(std::unique_ptr<response_writer> writer) { respond(written_by(*writer)); }
  virtual void on_cancel(std::function<void()> call) = 0;
  /// The head of an answer whose body comes piece by piece; its body is the first piece.
  virtual void begin(http_response head) = 0;
  /// The next piece.
  virtual void write(std::string piece) = 0;
  /// The body is whole; `whole` false: it ends here, and the client can tell.
  virtual void end(bool whole) = 0;
};

/// The right, and the duty, to send a body piece by piece, from any thread; one caller at a time. What a
/// client is slow to take is kept, within the server's bounds; then the client counts as gone. After a client
/// went away nothing has any effect. Dropped without `end`, it breaks the body off.
class http_stream {
 public:
  explicit http_stream(std::shared_ptr<http_exchange> exchange) : exchange_(std::move(exchange)) {}
  http_stream(http_stream&&) = default;
  http_stream& operator=(http_stream&& other) noexcept {
    std::swap(exchange_, other.exchange_);
    return *this;
  }
  ~http_stream();

  /// A piece is sent at once, alone.
  void write(std::string piece);
  void end();

 private:
  std::shared_ptr<http_exchange> exchange_;
};

/// The right, and the duty, to answer one request: once, from any thread, now or later. Dropped unanswered it
/// answers 500, so that no client waits for a forgotten request. May outlive the server.
class http_reply {
 public:
  explicit http_reply(std::shared_ptr<http_exchange> exchange) : exchange_(std::move(exchange)) {}
  http_reply(http_reply&&) = default;
  http_reply& operator=(http_reply&& other) noexcept {
    std::swap(exchange_, other.exchange_);
    return *this;
  }
  ~http_reply();

  /// Answers. A second answer, or one after the client went away, changes nothing.
  void send(http_response response);
  void send(std::unique_ptr<response_writer> writer);
  /// Answers with a body that comes piece by piece: the response's own is the first piece. `on_cancel` holds
  /// until the end of the body.
  http_stream begin(http_response head);
  /// `call` runs once if the client goes away (or the server gives up) before the answer: on a server thread,
  /// or at once in the caller's if that has happened already. It must not block.
  void on_cancel(std::function<void()> call);

 private:
  std::shared_ptr<http_exchange> exchange_;
};

}  // namespace troupe
