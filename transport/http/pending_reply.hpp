// The answer of one request on its way from the handler's threads to the connection's. Private to the server.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "transport/http/body_budget.hpp"
#include "transport/http/message.hpp"

namespace troupe {

class http_connection;

/// How the pieces of a body go over the wire: each in a chunk, as they are (the end of the connection is the
/// end of the body), or not at all.
enum class http_body_form { chunked, until_close, none };

class pending_reply final : public http_exchange {
 public:
  /// `unsent` counts what waits for the client. Both are there until `finish`.
  pending_reply(http_connection& connection, body_budget& unsent, http_body_form form)
      : form_(form), unsent_(unsent), connection_(&connection) {}

  void respond(http_response response) override;
  void respond_with(std::unique_ptr<response_writer> writer) override;
  void begin(http_response head) override;
  void write(std::string piece) override;
  void end(bool whole) override;
  void on_cancel(std::function<void()> call) override;

  // The rest is for the connection, on its thread.

  /// What a stream has got to send, in its form, since it was last asked.
  struct part {
    std::string bytes;
    bool over = false;   ///< there will be no more
    bool whole = false;  ///< and that is the whole body
  };

  /// True if there is nothing to do, all that was taken having been sent; then what changes that wakes the
  /// connection.
  bool sleep_if_idle();
  /// The head of a stream, once; nothing if the answer comes in one.
  std::optional<http_response> take_head();
  part take_part();
  /// The answer, unless it is a stream; if not all of it is there, the request is cancelled. From now on
  /// nobody comes to the connection any more. Does nothing the second time.
  std::optional<http_response> finish();

 private:
  enum class stage { open, streaming, settled };
  template <class Keep>
  void settle(stage from, Keep keep);
  void wake();
  void put(std::string_view piece);
  bool make_room(size_t bytes);

  const http_body_form form_;
  body_budget& unsent_;
  std::mutex mutex_;
  stage stage_ = stage::open;
  bool streams_ = false;
  bool whole_ = false;
  bool cancelled_ = false;
  std::optional<http_response> response_;  // or
  std::unique_ptr<response_writer> writer_;
  std::string bytes_;  // of a stream, not taken yet
  size_t kept_ = 0;    // those, and what was taken and is being sent
  std::optional<body_share> share_;
  std::function<void()> cancel_;
  http_connection* connection_;  // null once finished, or once its client counts as gone
  bool asleep_ = false;          // the connection waits
};

}  // namespace troupe
