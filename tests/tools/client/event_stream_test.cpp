#include "tools/client/event_stream.hpp"

#include <doctest/doctest.h>

#include <condition_variable>
#include <deque>
#include <future>
#include <optional>

#include "tests/tools/load/streaming_server.hpp"

using namespace troupe;

namespace {

std::vector<std::string> events_in(const std::vector<std::string>& pieces) {
  event_reader reader;
  std::vector<std::string> events;
  for (const auto& p : pieces)
    CHECK(reader.put(p, [&](std::string data) { events.push_back(std::move(data)); }));
  return events;
}

using strings = std::vector<std::string>;

/// Collects the events of one post, one at a time.
class listener {
 public:
  void post(http_client& client, const std::string& path, http_headers headers = {}) {
    post_for_events(client, {.path = path, .query = {}, .headers = std::move(headers), .body = "{\"a\":1}"},
                    {[this](std::string data, time_point at) {
                       std::lock_guard lock(mutex_);
                       if (at < last_) in_order_ = false;
                       last_ = at;
                       events_.push_back(std::move(data));
                       changed_.notify_all();
                       return !enough_;
                     },
                     [this](event_stream_end end) { ended_.set_value(std::move(end)); }});
  }
  std::string next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !events_.empty(); });
    auto event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  event_stream_end end() { return ended_.get_future().get(); }
  void have_enough() {
    std::lock_guard lock(mutex_);
    enough_ = true;
  }
  bool in_order() {
    std::lock_guard lock(mutex_);
    return in_order_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> events_;
  time_point last_ = long_ago;
  bool in_order_ = true, enough_ = false;
  std::promise<event_stream_end> ended_;
};

}  // namespace

TEST_CASE("event_reader: an event ends with an empty line, for any split of its bytes") {
  const std::string text = "data: one\n\ndata:two\r\n\r\ndata: a\rdata:  b\r\rdata\n\n";
  const strings expected{"one", "two", "a\n b", ""};
  CHECK(events_in({text}) == expected);
  strings bytes;
  for (const char c : text) bytes.emplace_back(1, c);
  CHECK(events_in(bytes) == expected);
}

TEST_CASE("event_reader: comments, other fields and a mark at the front are passed over") {
  CHECK(events_in({"\xEF\xBB\xBF"
                   "data: x\nid: 7\n\n: a comment\n\nevent: ping\n\ndatax: y\n\n data: z\n\n"}) ==
        strings{"x"});
  CHECK(events_in({"data: not yet ended\n"}).empty());
}

TEST_CASE("event_reader: an event without an end is not kept for ever") {
  event_reader reader;
  const std::string much = "data: " + std::string(1 << 20, 'x') + "\n";
  bool ok = true;
  int taken = 0;
  for (; ok && taken < 100; ++taken) ok = reader.put(much, [](const std::string&) { FAIL("no event"); });
  CHECK_FALSE(ok);
  CHECK(taken <= 17);
}

TEST_CASE("post_for_events: each event is there before the next one is sent") {
  std::promise<http_stream> opened;
  streaming_server server("/v1/x", [&](const nlohmann::json& body, http_reply reply) {
    CHECK(body == nlohmann::json{{"a", 1}});
    opened.set_value(streaming_server::begin(reply));
  });
  http_client client({.host = "127.0.0.1", .port = server.port()});
  listener l;
  l.post(client, "/v1/x");
  auto stream = opened.get_future().get();
  for (int i = 0; i < 20; ++i) {
    stream.write(event_of(std::to_string(i)));
    CHECK(l.next() == std::to_string(i));
  }
  stream.write("data: halves are ");
  stream.write("joined\n\n");
  CHECK(l.next() == "halves are joined");
  stream.end();
  const auto end = l.end();
  CHECK(end.error == "");
  CHECK(end.streamed);
  CHECK(end.response.status == 200);
  CHECK(l.in_order());
}

TEST_CASE("post_for_events: a refusal comes with its status and body, and the connection is used again") {
  streaming_server server("/v1/x", [](const nlohmann::json&, http_reply reply) {
    reply.send(http_error_response(429, "too many"));
  });
  http_client client({.host = "127.0.0.1", .port = server.port(), .max_connections = 1});
  for (int i = 0; i < 2; ++i) {
    listener l;
    l.post(client, "/v1/x");
    const auto end = l.end();
    CHECK(end.error == "");
    CHECK_FALSE(end.streamed);
    CHECK(end.response.status == 429);
    CHECK(end.response.body == R"({"error":"too many"})");
  }
}

TEST_CASE("post_for_events: a broken stream is an error, and its events before that are kept") {
  streaming_server server("/v1/x", [](const nlohmann::json&, http_reply reply) {
    auto stream = streaming_server::begin(reply);
    stream.write(event_of("first"));
  });
  http_client client({.host = "127.0.0.1", .port = server.port()});
  listener l;
  l.post(client, "/v1/x");
  CHECK(l.next() == "first");
  const auto end = l.end();
  CHECK(end.streamed);
  CHECK(end.error ==
        "the answer broke off (127.0.0.1:" + std::to_string(server.port()) + "): partial message");
}

TEST_CASE("post_for_events: a caller may end the stream, and the server notices") {
  std::promise<void> cancelled;
  std::promise<http_stream> opened;
  streaming_server server("/v1/x", [&](const nlohmann::json&, http_reply reply) {
    reply.on_cancel([&] { cancelled.set_value(); });
    opened.set_value(streaming_server::begin(reply));
  });
  http_client client({.host = "127.0.0.1", .port = server.port()});
  listener l;
  l.have_enough();
  l.post(client, "/v1/x");
  auto stream = opened.get_future().get();
  stream.write(event_of("one"));
  CHECK(l.end().error == "broken off");
  cancelled.get_future().get();
}

TEST_CASE("post_for_events: a server that falls silent amid a stream is an error") {
  std::promise<http_stream> opened;
  streaming_server server("/v1/x", [&](const nlohmann::json&, http_reply reply) {
    auto stream = streaming_server::begin(reply);
    stream.write(event_of("one"));
    opened.set_value(std::move(stream));
  });
  http_client client({.host = "127.0.0.1", .port = server.port(), .timeout = 500ms});
  listener l;
  l.post(client, "/v1/x");
  CHECK(l.end().error == "no answer (127.0.0.1:" + std::to_string(server.port()) + "): timed out");
}
