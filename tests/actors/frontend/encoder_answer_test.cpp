#include "actors/frontend/encoder_answer.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

using namespace troupe;

namespace {

struct encoder_client final : http_exchange {
  void respond(http_response r) override { response = std::move(r); }
  void respond_with(std::unique_ptr<response_writer> w) override { response = w->write(); }
  void on_cancel(std::function<void()>) override {}
  void begin(http_response) override { FAIL("an answer was streamed"); }
  void write(std::string) override {}
  void end(bool) override {}
  std::optional<http_response> response;
};

outcome finished_with(std::span<const float> numbers) {
  outcome how;
  how.output = std::as_bytes(numbers);
  return how;
}

struct two_texts {
  std::shared_ptr<encoder_client> client = std::make_shared<encoder_client>();
  int given_up = 0;
  encoder_answer answer{
      http_reply(client),
      request_id{7},
      2,
      2,
      [](std::vector<std::vector<float>> all) { return nlohmann::json(std::move(all)).dump(); },
      [this] { ++given_up; }};
};

}  // namespace

TEST_CASE("encoder_answer: the answer has the numbers of all texts, in their order") {
  two_texts t;
  const float first[] = {1, 2}, second[] = {3, 4};
  t.answer.take(1, finished_with(second));
  CHECK_FALSE(t.client->response);
  t.answer.take(0, finished_with(first));
  REQUIRE(t.client->response);
  CHECK(t.client->response->status == 200);
  CHECK(t.client->response->body == "[[1.0,2.0],[3.0,4.0]]");
  CHECK(t.client->response->headers.find("Troupe-Request-Id") == "7");
  CHECK(t.given_up == 0);
}

TEST_CASE("encoder_answer: the first text that has no numbers is the answer, and the others are given up") {
  two_texts t;
  t.answer.take(1, outcome::dropped(drop_reason::queue_full));
  REQUIRE(t.client->response);
  CHECK(t.client->response->status == 429);
  CHECK(nlohmann::json::parse(t.client->response->body)["error"]["code"] == "queue_full");
  CHECK(t.given_up == 1);
  t.client->response.reset();
  t.answer.take(0, outcome::failed(failure::timeout));
  CHECK_FALSE(t.client->response);
  CHECK(t.given_up == 1);
}

TEST_CASE("encoder_answer: numbers that are not finite are a failure of the model") {
  two_texts t;
  const float good[] = {1, 2}, bad[] = {3, std::numeric_limits<float>::quiet_NaN()};
  t.answer.take(0, finished_with(good));
  t.answer.take(1, finished_with(bad));
  REQUIRE(t.client->response);
  CHECK(t.client->response->status == 500);
  CHECK(t.given_up == 0);
}

TEST_CASE("encoder_answer: numbers of another width are a failure of the model") {
  const std::vector<float> numbers{1, 2, 3};
  for (const size_t width : {0, 1, 3}) {
    two_texts t;
    t.answer.take(0, finished_with(std::span(numbers).first(width)));
    REQUIRE(t.client->response);
    CHECK(t.client->response->status == 500);
    CHECK(t.client->response->body.find(fmt::format("has {} numbers instead of 2", width)) !=
          std::string::npos);
    CHECK(t.given_up == 1);
  }
}
