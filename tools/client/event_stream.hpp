// Server-sent events, read incrementally.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "messages/common/time.hpp"
#include "tools/client/http_client.hpp"

namespace troupe {

/// Splits the bytes of a text/event-stream into events (WHATWG HTML, 9.2.6). Only the `data` field is kept;
/// events without data are ignored.
class event_reader {
 public:
  using on_data = std::function<void(std::string data)>;

  /// Takes the next bytes, and calls `event` for each event completed by them. Returns false, and ignores
  /// further bytes, once an event is larger than 16 MiB.
  bool put(std::string_view bytes, const on_data& event);

 private:
  void end_line(const on_data& event);

  std::string line_;
  std::string data_;
  bool has_data_ = false;
  bool after_return_ = false;  // a CR ended the last line: an LF belongs to it
  bool first_line_ = true;
};

/// How an event stream ended.
struct event_stream_end {
  std::string error;       ///< error of the connection: the body is incomplete; empty: complete
  http_response response;  ///< with the body of an answer that is not an event stream, such as a refusal
  bool streamed = false;   ///< whether it was an event stream with status 200
};

struct event_stream_handlers {
  /// Called with an event's data and arrival time, on the client's thread, which it must not block. Return
  /// false to stop.
  std::function<bool(std::string data, time_point at)> event;
  /// Once, on the client's thread, after the last event.
  std::function<void(event_stream_end)> end;
};

/// Posts a JSON body; `request.headers` may hold more, such as an API key.
void post_for_events(http_client& client, http_request request, event_stream_handlers handlers);

}  // namespace troupe
