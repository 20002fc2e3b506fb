#include "tools/client/event_stream.hpp"

#include <memory>
#include <utility>

namespace troupe {
namespace {

constexpr size_t largest_event = 16 << 20;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

bool is_event_stream(const http_response& head) {
  return head.status == 200 && head.content_type.starts_with("text/event-stream");
}

struct reading {
  event_stream_handlers handlers;
  event_reader reader;
  bool streamed = false;
  bool wanted = true;
  bool too_large = false;

  bool take(const http_response& head, std::string& body) {
    if (!is_event_stream(head)) return true;
    streamed = true;
    const auto at = machine_clock().now();
    too_large = !reader.put(std::exchange(body, {}), [&](std::string data) {
      wanted = wanted && handlers.event(std::move(data), at);
    });
    return wanted && !too_large;
  }
};

}  // namespace

bool event_reader::put(std::string_view bytes, const on_data& event) {
  for (const char c : bytes) {
    if (std::exchange(after_return_, c == '\r') && c == '\n') continue;
    if (c == '\r' || c == '\n') {
      end_line(event);
      continue;
    }
    if (line_.size() + data_.size() >= largest_event) return false;
    line_ += c;
  }
  return true;
}

void event_reader::end_line(const on_data& event) {
  std::string_view line = line_;
  if (std::exchange(first_line_, false) && line.starts_with(byte_order_mark))
    line.remove_prefix(byte_order_mark.size());
  if (line.empty()) {
    if (std::exchange(has_data_, false)) event(std::exchange(data_, {}));
  } else if (const auto colon = line.find(':'); line.substr(0, colon) == "data") {
    auto value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (std::exchange(has_data_, true)) data_ += '\n';
    data_ += value;
  }
  line_.clear();
}

void post_for_events(http_client& client, http_request request, event_stream_handlers handlers) {
  request.method = "POST";
  request.headers.add("Content-Type", "application/json");
  request.headers.add("Accept", "text/event-stream");
  auto r = std::make_shared<reading>();
  r->handlers = std::move(handlers);
  client.send(
      std::move(request), [r](const http_response& head, std::string& body) { return r->take(head, body); },
      [r](http_outcome o) {
        if (r->too_large) o.error = "an event is larger than 16 MiB";
        r->handlers.end({std::move(o.error), std::move(o.response), r->streamed});
      });
}

}  // namespace troupe
