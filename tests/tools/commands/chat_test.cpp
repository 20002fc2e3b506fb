#include "tools/commands/chat.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <sstream>
#include <utility>

#include "tests/temporary_folder.hpp"
#include "tests/tools/load/streaming_server.hpp"

using namespace troupe;

namespace {

struct session {
  int code = 0;
  std::string out, err;
};

session say(
    const chat_options& o, const std::string& lines, bool prompts = false,
    const std::function<bool()>& interrupted = [] { return false; }) {
  std::istringstream in(lines);
  std::ostringstream out, err;
  const int code =
      converse(o, {.in = in, .out = out, .err = err, .prompts = prompts, .interrupted = interrupted});
  return {code, out.str(), err.str()};
}

/// Answers with the last message, in pieces.
void echo(const nlohmann::json& body, http_reply reply) {
  auto stream = streaming_server::begin(reply);
  stream.write(event_of(R"({"choices":[{"index":0,"delta":{"role":"assistant"}}]})"));
  stream.write(chat_chunk("you said "));
  stream.write(chat_chunk(body["messages"].back()["content"]));
  stream.write(event_of(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"));
  stream.write(event_of("[DONE]"));
  stream.end();
}

constexpr auto chat_path = "/v1/chat/completions";

}  // namespace

TEST_CASE("chat: each line is answered, and the server gets the conversation so far") {
  streaming_server server(chat_path, echo);
  chat_options o{.where = server.url(), .model = "llama"};
  o.system = "Be brief.";
  o.max_tokens = 12;
  o.temperature = 0.5;
  o.seed = 3;
  const auto t = say(o, "hello\n\n  \nand \"you\"?");
  CHECK(t.code == 0);
  CHECK(t.out == "you said hello\nyou said and \"you\"?\n");
  CHECK(t.err == "");
  const auto asked = server.asked();
  REQUIRE(asked.size() == 2);
  CHECK(asked[1] == nlohmann::json::parse(R"({"model": "llama", "stream": true, "max_tokens": 12,
      "temperature": 0.5, "seed": 3, "messages": [{"role": "system", "content": "Be brief."},
      {"role": "user", "content": "hello"}, {"role": "assistant", "content": "you said hello"},
      {"role": "user", "content": "and \"you\"?"}]})"));
}

TEST_CASE("chat: absent options are left to the server") {
  streaming_server server(chat_path, echo);
  say({.where = server.url(), .model = "m"}, "x\n");
  CHECK(server.asked().at(0) ==
        nlohmann::json::parse(
            R"({"model": "m", "stream": true, "messages": [{"role": "user", "content": "x"}]})"));
}

TEST_CASE("chat: an error is one line, and ends a script but not a terminal session") {
  std::atomic<int> n{0};
  streaming_server server(chat_path, [&](const nlohmann::json& body, http_reply reply) {
    if (n++ % 2 == 0)
      return reply.send(
          {.status = 404, .headers = {}, .body = R"({"error":{"message":"no model\nm","code":404}})"});
    echo(body, std::move(reply));
  });
  const chat_options o{.where = server.url(), .model = "m"};
  const auto script = say(o, "one\ntwo\n");
  CHECK(script.code == 1);
  CHECK(script.out == "");
  CHECK(script.err == "chat: HTTP 404: no model m\n");
  n = 0;
  const auto person = say(o, "one\ntwo\n", true);
  CHECK(person.code == 1);
  CHECK(person.out == "> > you said two\n> \n");
  CHECK(server.asked().back()["messages"].size() == 1);
}

TEST_CASE("chat: an answer that breaks off, or has an error in it, is an error") {
  std::atomic<int> n{0};
  streaming_server server(chat_path, [&](const nlohmann::json&, http_reply reply) {
    auto stream = streaming_server::begin(reply);
    stream.write(chat_chunk("half"));
    if (n++ == 0) return;
    stream.write(event_of(R"({"error":{"message":"the engine died"}})"));
    stream.end();
  });
  const chat_options o{.where = server.url(), .model = "m"};
  const auto broken = say(o, "x\n");
  CHECK(broken.code == 1);
  CHECK(broken.out == "half\n");
  CHECK(broken.err.starts_with("chat: the answer broke off"));
  const auto died = say(o, "x\n");
  CHECK(died.code == 1);
  CHECK(died.err == "chat: the engine died\n");
}

TEST_CASE("chat: an interrupted answer stays in the conversation as far as it came") {
  std::promise<void> cancelled;
  std::vector<http_stream> open;
  std::atomic<int> n{0};
  streaming_server server(chat_path, [&](const nlohmann::json& body, http_reply reply) {
    if (n++ > 0) return echo(body, std::move(reply));
    reply.on_cancel([&] { cancelled.set_value(); });
    open.push_back(streaming_server::begin(reply));
    open.back().write(chat_chunk("for ever"));
  });
  struct : std::stringbuf {
    int sync() override {
      printed = true;
      return 0;
    }
    std::atomic<bool> printed{false};
  } screen;
  std::ostream out(&screen);
  std::ostringstream err;
  std::istringstream in("one\ntwo\n");
  const chat_options o{.where = server.url(), .model = "m"};
  bool once = false;  // the second request is not interrupted, however late the server counts it
  const auto interrupted = [&] { return n == 1 && screen.printed && !std::exchange(once, true); };
  const int code = converse(o, {.in = in, .out = out, .err = err, .interrupted = interrupted});
  CHECK(code == 0);
  cancelled.get_future().get();
  CHECK(screen.str() == "for ever\nyou said two\n");
  CHECK(server.asked().at(1)["messages"].at(1) ==
        nlohmann::json::parse(R"({"role": "assistant", "content": "for ever"})"));
}

TEST_CASE("chat: control characters of a model are not printed") {
  streaming_server server(chat_path, echo);
  const auto t = say({.where = server.url(), .model = "m"}, "\x1b[2J\tx\x7f\n");
  CHECK(t.out == "you said [2J\tx\n");
}

TEST_CASE("chat: an unreachable server and an invalid URL are errors") {
  const auto nobody = say({.where = "http://127.0.0.1:1", .model = "m"}, "x\n");
  CHECK(nobody.code == 1);
  CHECK(nobody.err == "chat: cannot connect (127.0.0.1:1): Connection refused\n");
  const auto none = say({.where = "ftp:/", .model = "m"}, "x\n");
  CHECK(none.code == 2);
  CHECK(none.err == "chat: \"ftp:/\" is neither http://HOST:PORT nor a folder\n");
}

TEST_CASE("chat: a model of a folder answers in this process, with an adapter if one is named") {
  const temporary_folder folder;
  const auto tasks = std::filesystem::path(TROUPE_FIXTURES) / "llama-tasks";
  std::filesystem::copy(tasks / "base", folder.path);
  const auto without = say({.where = folder.path.string()}, "x\n");
  CHECK(without.code == 2);
  CHECK(without.err.find("has no chat template") != std::string::npos);
  folder.write("chat_template.jinja",
               "{{ bos_token }}{{ messages[-1]['content'] }}{% if add_generation_prompt %}={% endif %}");
  chat_options o{.where = folder.path.string()};
  o.temperature = 0;
  auto t = say(o, "ryq\nyjgjaabwcgi\n");
  CHECK(t.code == 0);
  CHECK(t.out == "ryq\nyjgjaabwcgi\n");
  o.adapter = (tasks / "adapters" / "reverse").string();
  t = say(o, "amt\n");
  CHECK(t.out == "tma\n");
  o.max_tokens = 2;
  CHECK(say(o, "amt\n").out == "tm\n");
  CHECK(say(o, std::string(2000, 'a') + "\n").err.find("tokens") != std::string::npos);
}
