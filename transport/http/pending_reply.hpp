// The answer of one request, passed from the handler's threads to the connection's. Private to the server.
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

/// Transfer form of the pieces of a body: chunked, as they are until the connection closes, or none (HEAD).
enum class http_body_form { chunked, until_close, none };

class pending_reply final : public http_exchange {
 public:
  /// `unsent` counts bytes that wait for the client. Both live until `finish`.
  pending_reply(http_connection& connection, body_budget& unsent, http_body_form form)
      : form_(form), unsent_(unsent), connection_(&connection) {}

  void respond(http_response response) override;
  void respond_with(std::unique_ptr<response_writer> writer) override;
  void begin(http_response head) override;
  void write(std::string piece) override;
  void end(bool whole) override;
  void on_cancel(std::function<void()> call) override;

  // The rest is for the connection, on its thread.

  /// Bytes of a stream to send, in its form, since the last call.
  struct part {
    std::string bytes;
    bool over = false;   ///< the last part
    bool whole = false;  ///< the body is complete
  };

  /// True if there is nothing to do; all taken bytes must have been sent. The next change then wakes the
  /// connection.
  bool sleep_if_idle();
  /// The head of a stream, once; nothing if the answer is not a stream.
  std::optional<http_response> take_head();
  part take_part();
  /// Returns the answer, unless it is a stream, and cancels the request if it is incomplete. Afterwards no
  /// other thread touches the connection. A second call has no effect.
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
  std::string bytes_;  // of a stream, not yet taken
  size_t kept_ = 0;    // these, plus taken ones that are being sent
  std::optional<body_share> share_;
  std::function<void()> cancel_;
  http_connection* connection_;  // null once finished, or once the client counts as gone
  bool asleep_ = false;          // the connection waits
};

}  // namespace troupe
