// Server-sent events, read as they come.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "messages/common/time.hpp"
#include "tools/client/http_client.hpp"

namespace troupe {

/// Cuts the bytes of a text/event-stream into events (WHATWG HTML, 9.2.6). Of an event's fields only `data`
/// is kept; events without any are none.
class event_reader {
 public:
  using on_data = std::function<void(std::string data)>;

  /// Takes the next bytes, and calls for each event that ends in them. False, and nothing more is taken, once
  /// an event is larger than 16 MiB.
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
  std::string error;       ///< the connection's: why the body is not whole; empty: it is
  http_response response;  ///< with the body of an answer that is no event stream, such as a refusal
  bool streamed = false;   ///< whether it was one, with status 200
};

struct event_stream_handlers {
  /// An event's data, and when it came: on the client's thread, which it must not block. False: no more is
  /// wanted.
  std::function<bool(std::string data, time_point at)> event;
  /// Once, on the client's thread, after the last event.
  std::function<void(event_stream_end)> end;
};

/// Posts a JSON body; `request.headers` may hold more, such as an API key.
void post_for_events(http_client& client, http_request request, event_stream_handlers handlers);

}  // namespace troupe
