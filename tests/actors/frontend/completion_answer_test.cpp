#include "actors/frontend/completion_answer.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace troupe;
using nlohmann::json;

namespace {

/// Token i is the letter i of the alphabet; 26 is the end token.
class letters final : public llm::tokenizer {
 public:
  std::vector<llm::token> encode(std::string_view text, bool, bool) const override {
    std::vector<llm::token> out;
    for (const char c : text) out.push_back(c - 'a');
    return out;
  }
  std::string decode(const std::vector<llm::token>& tokens, bool skip_special) const override {
    std::string out;
    for (const auto t : tokens) out += t < 26 ? piece(t) : skip_special ? "" : "</s>";
    return out;
  }
  uint32_t vocabulary() const override { return 27; }
  std::string piece(llm::token t) const override {
    return t < 26 ? std::string(1, static_cast<char>('a' + t)) : "";
  }
  std::string name(llm::token t) const override { return piece(t); }
  bool is_special(llm::token t) const override { return t == 26; }
  std::optional<llm::token> find(std::string_view) const override { return {}; }
};

struct kept_exchange final : http_exchange {
  void respond(http_response r) override { whole = std::move(r); }
  void on_cancel(std::function<void()>) override {}
  void begin(http_response head) override {
    CHECK(head.content_type == "text/event-stream");
    events = head.body;
  }
  void write(std::string piece) override { events += piece; }
  void end(bool all) override { ended = all; }

  /// The data of each event.
  std::vector<std::string> data() const {
    std::vector<std::string> out;
    for (size_t at = 0; at < events.size();) {
      const auto end = events.find("\n\n", at);
      REQUIRE(events.substr(at, 6) == "data: ");
      out.push_back(events.substr(at + 6, end - at - 6));
      at = end + 2;
    }
    return out;
  }

  std::optional<http_response> whole;
  std::string events;
  std::optional<bool> ended;
};

struct answering {
  explicit answering(completion_answer::options o = {}) {
    auto words = std::make_shared<tokenizer_bundle>();
    words->words = std::make_shared<letters>();
    o.id = "7";
    o.model = "m";
    answer.emplace(std::move(o), words, http_reply(exchange));
  }
  bool get(llm::token which, finish_reason finish = finish_reason::none, uint32_t choice = 0,
           size_t prompt = 0) {
    return answer->token(prompt,
                         {answer->requests().at(prompt), 1, choice, which, -0.5F, {{which, -0.5F}}, finish});
  }
  json body() const { return json::parse(exchange->whole->body); }

  std::shared_ptr<kept_exchange> exchange = std::make_shared<kept_exchange>();
  std::optional<completion_answer> answer;
};

}  // namespace

TEST_CASE("completion answer: prompts and choices are in order, for any order of their ends") {
  completion_answer::options o;
  o.choices = 2;
  answering a(o);
  a.answer->add_prompt(request_id{1}, {0}, "");
  a.answer->add_prompt(request_id{2}, {1}, "echo ");
  a.get(3, finish_reason::length, 1, 1);
  a.get(2, finish_reason::length, 0, 1);
  CHECK_FALSE(a.answer->ended({}));
  a.get(1, finish_reason::length, 1, 0);
  a.get(0, finish_reason::length, 0, 0);
  CHECK(a.answer->ended({}));
  std::vector<std::string> texts;
  const auto body = a.body();
  for (const auto& c : body["choices"]) texts.push_back(c["text"]);
  const auto received = json(texts).dump();
  CHECK(received == R"(["a","b","echo c","echo d"])");
  CHECK(a.body()["usage"]["prompt_tokens"] == 2);
  CHECK(a.body()["usage"]["completion_tokens"] == 4);
}

TEST_CASE("completion answer: a stop string ends its choice, a stop token is counted but not in the text") {
  completion_answer::options o;
  o.stop = {"bc"};
  answering a(o);
  a.answer->add_prompt(request_id{1}, {0}, "");
  CHECK_FALSE(a.get(0));
  CHECK_FALSE(a.get(1));
  CHECK(a.get(2));
  CHECK(a.answer->ended({}));
  CHECK(a.body()["choices"][0]["text"] == "a");
  CHECK(a.body()["choices"][0]["finish_reason"] == "stop");

  answering b;
  b.answer->add_prompt(request_id{1}, {0}, "");
  b.get(4);
  CHECK_FALSE(b.get(5, finish_reason::stop));  // the engine detects stop tokens
  b.answer->ended({});
  CHECK(b.body()["choices"][0]["text"] == "e");
  CHECK(b.body()["usage"]["completion_tokens"] == 2);
}

TEST_CASE("completion answer: a stream has an event for each token, and holds back a possible stop string") {
  completion_answer::options o;
  o.stream = o.include_usage = true;
  o.stop = {"bc"};
  answering a(o);
  a.answer->add_prompt(request_id{1}, {0}, "");
  a.get(0);
  a.get(1);
  a.get(3, finish_reason::length);
  a.answer->ended({});
  const auto data = a.exchange->data();
  REQUIRE(data.size() == 5);
  const auto text = [&](size_t i) { return json::parse(data[i])["choices"][0]["text"].get<std::string>(); };
  CHECK(text(0) == "a");
  CHECK(text(1) == "");
  CHECK(text(2) == "bd");
  CHECK(json::parse(data[3])["usage"]["completion_tokens"] == 3);
  CHECK(data[4] == "[DONE]");
  CHECK(a.exchange->ended == true);
}

TEST_CASE("completion answer: a failure before the first token is a status, after it an event") {
  answering a;
  a.answer->add_prompt(request_id{1}, {0}, "");
  a.answer->add_prompt(request_id{2}, {0}, "");
  CHECK(a.answer->ended(outcome::dropped(drop_reason::queue_full)));
  CHECK(a.exchange->whole->status == 429);
  CHECK(a.body()["error"]["type"] == "rate_limit_error");
  CHECK(a.answer->ended(outcome::dropped(drop_reason::cancelled)));  // the other prompt: nothing more is sent

  completion_answer::options o;
  o.stream = true;
  answering b(o);
  b.answer->add_prompt(request_id{1}, {0}, "");
  b.get(0);
  CHECK(b.answer->ended(outcome::failed(failure::worker_lost)));
  const auto data = b.exchange->data();
  REQUIRE(data.size() == 3);
  CHECK(json::parse(data[1])["error"]["type"] == "server_error");
  CHECK(data[2] == "[DONE]");

  answering c;
  c.answer->add_prompt(request_id{1}, {0}, "");
  c.answer->ended(outcome::dropped(drop_reason::undeployed));
  CHECK(c.exchange->whole->status == 404);
  CHECK(c.body()["error"]["code"] == "model_not_found");
}

TEST_CASE("completion answer: logprobs have each token with its offset in the text") {
  completion_answer::options o;
  o.logprobs = true;
  answering a(o);
  a.answer->add_prompt(request_id{1}, {0}, "");
  a.get(0);
  a.get(1);
  a.get(26, finish_reason::stop);
  a.answer->ended({});
  const auto received = a.body()["choices"][0]["logprobs"];
  CHECK(received["tokens"] == json{"a", "b", "</s>"});
  CHECK(received["text_offset"] == json{0, 1, 2});
  CHECK(received["token_logprobs"][1] == -0.5);
  CHECK(received["top_logprobs"][0]["a"] == -0.5);
}
