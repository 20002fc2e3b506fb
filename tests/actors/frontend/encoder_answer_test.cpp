#include "actors/frontend/encoder_answer.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

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

encoder_answer two_texts(const std::shared_ptr<encoder_client>& client) {
  return {http_reply(client), 2,
          [](std::vector<std::vector<float>> all) { return nlohmann::json(std::move(all)).dump(); }};
}

}  // namespace

TEST_CASE("encoder_answer: the answer has the numbers of all texts, in their order") {
  const auto client = std::make_shared<encoder_client>();
  auto answer = two_texts(client);
  const float first[] = {1, 2}, second[] = {3};
  answer.take(1, finished_with(second));
  CHECK_FALSE(client->response);
  answer.take(0, finished_with(first));
  REQUIRE(client->response);
  CHECK(client->response->status == 200);
  CHECK(client->response->body == "[[1.0,2.0],[3.0]]");
}

TEST_CASE("encoder_answer: the first text that has no numbers decides, when all have ended") {
  const auto client = std::make_shared<encoder_client>();
  auto answer = two_texts(client);
  answer.take(1, outcome::dropped(drop_reason::queue_full));
  CHECK_FALSE(client->response);
  answer.take(0, outcome::failed(failure::timeout));
  REQUIRE(client->response);
  CHECK(client->response->status == 429);
  CHECK(nlohmann::json::parse(client->response->body)["error"]["code"] == "queue_full");
}
