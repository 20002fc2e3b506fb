#include "actors/frontend/http_clients.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>

#include "actors/frontend/request_timing.hpp"
#include "messages/tensor/shaped_tensors.hpp"

using namespace troupe;

namespace {

struct set_clock final : clock {
  time_point now() const override { return at; }
  time_point at{1h};
};

/// A client's connection, whose thread has not come to write the answer yet.
struct slow_exchange final : http_exchange {
  void respond(http_response r) override { response = std::move(r); }
  void respond_with(std::unique_ptr<response_writer> w) override { writer = std::move(w); }
  void on_cancel(std::function<void()>) override {}
  void begin(http_response) override { FAIL("an answer was streamed"); }
  void write(std::string) override {}
  void end(bool) override {}
  std::optional<http_response> response;
  std::unique_ptr<response_writer> writer;
};

struct front {
  /// A request for one row of a model with one output of three numbers.
  std::shared_ptr<slow_exchange> ask(uint64_t id, bool timed = false) {
    auto e = std::make_shared<catalog::entry>();
    e->name = "m";
    e->signature.outputs = {{"y", data_type::fp32, {3}}};
    auto client = std::make_shared<slow_exchange>();
    infer_request asked;
    asked.rows = 1;
    asked.outputs = {{0, false, 0}};
    clients.expect(request_id{id}, {http_reply(client), e, std::move(asked), time.at, timed});
    return client;
  }
  void finish(uint64_t id, std::vector<float> values) {
    std::vector<std::byte> pulled(values.size() * sizeof(float));
    std::memcpy(pulled.data(), values.data(), pulled.size());
    outcome how;
    how.output = pulled;
    how.arrival = how.accepted_at = how.completed_at = time.at;
    how.times = {time.at, time.at, time.at, time.at, time.at, time.at};
    clients.answer(request_id{id}, how, std::move(pulled));
  }
  set_clock time;
  http_clients clients{time};
};

}  // namespace

TEST_CASE("http_clients: outputs that come with their shapes are answered in these") {
  front f;
  auto e = std::make_shared<catalog::entry>();
  e->name = "m";
  e->signature = {.inputs = {}, .outputs = {{"y", data_type::fp32, {-1, 2}}}, .batched = false};
  auto client = std::make_shared<slow_exchange>();
  infer_request asked;
  asked.rows = 1;
  asked.outputs = {{0, false, 0}};
  f.clients.expect(request_id{1},
                   {.reply = http_reply(client), .model = e, .asked = std::move(asked), .with_shapes = true});
  auto tensors = e->signature.outputs;
  tensors[0].shape = {2, 2};
  std::vector<std::byte> pulled(shapes_bytes(tensors) + 16);
  const std::vector<float> values{1, 2, 3, 4};
  std::memcpy(write_shapes(tensors, pulled).data(), values.data(), 16);
  outcome how;
  how.output = pulled;
  f.clients.answer(request_id{1}, how, std::move(pulled));
  REQUIRE(client->writer);
  const auto r = client->writer->write();
  CHECK(r.status == 200);
  CHECK(r.body.find(R"("shape":[2,2],"data":[1,2,3,4])") != std::string::npos);
}

TEST_CASE("http_clients: the gateway passes the output on, and the connection's thread writes the body") {
  front f;
  const auto client = f.ask(1);
  CHECK(f.clients.waiting_now() == 1);
  f.finish(1, {1, 2.5, -3});
  CHECK(f.clients.waiting_now() == 0);
  CHECK(f.clients.statistics().of({}).inferences == 1);
  CHECK_FALSE(client->response);
  REQUIRE(client->writer);
  const auto r = client->writer->write();
  CHECK(r.status == 200);
  CHECK(r.body.find(R"("data":[1,2.5,-3])") != std::string::npos);
  CHECK_FALSE(r.headers.find("Server-Timing"));
  CHECK(r.headers.find("Troupe-Request-Id") == "1");
}

TEST_CASE("http_clients: outputs without a JSON form or of the wrong size are a 500") {
  front f;
  for (const auto& values :
       {std::vector{1.f, 2.f, std::numeric_limits<float>::infinity()}, std::vector{1.f}}) {
    const auto client = f.ask(1);
    f.finish(1, values);
    REQUIRE(client->writer);
    CHECK(client->writer->write().status == 500);
  }
}

TEST_CASE("http_clients: the time until the body is written belongs to the timing") {
  front f;
  const auto client = f.ask(1, true);
  f.finish(1, {1, 2, 3});
  f.time.at += 4ms;
  REQUIRE(client->writer);
  const auto timing =
      parse_request_timing(client->writer->write().headers.find("Server-Timing").value_or(""));
  REQUIRE(timing);
  CHECK((*timing)[request_stage::format] == 4ms);
}

TEST_CASE("http_clients: every outcome has a named status and its reason") {
  outcome how;
  const auto check = [&](std::string_view reason) {
    const auto r = refusal_response(how);
    CAPTURE(r.body);
    CHECK(http_reason(r.status) != "Unknown");
    CHECK(r.body.ends_with("\"reason\":\"" + std::string(reason) + "\"}"));
    CHECK(r.headers.find("Retry-After").has_value() == (r.status == 429 || r.status == 503));
  };
  how.kind = outcome_kind::dropped;
  for (size_t i = 1; i < drop_reason_count; ++i) {
    how.reason = static_cast<drop_reason>(i);
    check(to_string(how.reason));
  }
  how.kind = outcome_kind::failed;
  for (size_t i = 1; i < failure_count; ++i) {
    how.error = static_cast<failure>(i);
    check(to_string(how.error));
  }
}

TEST_CASE("http_clients: a worker's failure text reaches the client, even if it is not UTF-8") {
  front f;
  const auto client = f.ask(1);
  outcome how;
  how.kind = outcome_kind::failed;
  how.error = failure::device_error;
  how.detail = "Gather 'n\xff': index 9 is out of range";
  f.clients.answer(request_id{1}, how, {});
  REQUIRE(client->response);
  CHECK(client->response->status == 500);
  CHECK(client->response->headers.find("Troupe-Request-Id") == "1");
  CHECK(client->response->body ==
        "{\"error\":\"request failed: Gather 'n\xEF\xBF\xBD': index 9 is out of range\","
        "\"reason\":\"device_error\"}");
}
