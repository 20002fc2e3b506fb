#include "tools/load/completions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <set>

#include "tests/tools/load/streaming_server.hpp"
#include "tools/load/client.hpp"

using namespace troupe;

namespace {

/// Sends three tokens in two events, then the usage, and the end.
void complete(http_reply reply) {
  auto stream = streaming_server::begin(reply);
  stream.write(completion_chunk("a"));
  stream.write(completion_chunk("bc"));
  stream.write(event_of(R"({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]})"));  // no token
  stream.write(usage_chunk(7, 3));
  stream.write(event_of("[DONE]"));
  stream.end();
}

completion_load_options options(const streaming_server& server) {
  completion_load_options o;
  o.url = server.url();
  o.model = "llama";
  o.prompt = "Hello";
  o.length = 60s;
  o.requests = 20;
  return o;
}

}  // namespace

TEST_CASE("load --completions: every request asks for a stream with its usage, and is accounted for") {
  streaming_server server("/v1/completions",
                          [](const nlohmann::json&, http_reply reply) { complete(std::move(reply)); });
  for (const double rate : {0.0, 500.0}) {
    auto o = options(server);
    o.rate = rate;
    o.concurrency = 4;
    o.max_tokens = 9;
    const auto before = server.asked().size();
    const auto r = measure_completions(o);
    CHECK(r.sent == 20);
    CHECK(r.completed == 20);
    CHECK(r.good == 20);
    CHECK(r.errors.empty());
    CHECK(r.output_tokens == 60);
    CHECK(r.prompt_tokens == 140);
    CHECK(r.ttft.count() == 20);
    CHECK(r.itl.count() == 20);
    CHECK(r.tpot.count() == 20);
    CHECK(r.e2e.count() == 20);
    CHECK(r.ttft.quantile(0) > 0ms);
    CHECK(r.e2e.quantile(1) >= r.ttft.quantile(1));
    CHECK(r.length >= r.e2e.quantile(1));
    CHECK(r.models == std::map<std::string, uint64_t>{{"llama", 20}});
    const auto asked = server.asked();
    REQUIRE(asked.size() == before + 20);
    CHECK(asked.back() == nlohmann::json::parse(R"({"model": "llama", "prompt": "Hello", "max_tokens": 9,
        "stream": true, "stream_options": {"include_usage": true}})"));
  }
}

TEST_CASE("load --completions: at most --concurrency requests are in flight") {
  std::mutex mutex;
  std::vector<http_reply> kept;
  size_t max = 0, seen = 0;
  streaming_server server("/v1/completions", [&](const nlohmann::json&, http_reply reply) {
    std::lock_guard lock(mutex);
    kept.push_back(std::move(reply));
    max = std::max(max, kept.size());
    if (++seen % 3 != 0 && seen != 20) return;  // answered three at a time
    for (auto& k : kept) complete(std::move(k));
    kept.clear();
  });
  auto o = options(server);
  o.concurrency = 3;
  CHECK(measure_completions(o).completed == 20);
  CHECK(max == 3);
}

TEST_CASE("load --completions: an unfinished request counts as failed, by its reason") {
  std::atomic<int> n{0};
  streaming_server server("/v1/completions", [&](const nlohmann::json&, http_reply reply) {
    switch (n++ % 5) {
      case 0: return complete(std::move(reply));
      case 1: return reply.send(http_error_response(429, "too many"));
      case 2: {
        auto stream = streaming_server::begin(reply);
        stream.write(completion_chunk("a"));
        return stream.end();  // without [DONE]
      }
      case 3: {
        auto stream = streaming_server::begin(reply);
        stream.write(completion_chunk("a"));
        stream.write(event_of(R"({"error":{"message":"the engine died"}})"));
        stream.write(event_of("[DONE]"));
        return stream.end();
      }
      default: return reply.send({.headers = {}, .body = "{}"});
    }
  });
  auto o = options(server);
  o.concurrency = 1;
  const auto r = measure_completions(o);
  CHECK(r.sent == 20);
  CHECK(r.completed == 4);
  CHECK(r.errors == std::map<std::string, uint64_t>{{"HTTP 429", 4},
                                                    {"the response has no end", 4},
                                                    {"an error within the response", 4},
                                                    {"the response is not an event stream", 4}});
}

TEST_CASE("load --completions: an unreachable server fails every request") {
  completion_load_options o{.url = "http://127.0.0.1:1", .model = "m", .prompt = "x"};
  o.requests = 3;
  const auto r = measure_completions(o);
  CHECK(r.completed == 0);
  CHECK(r.errors == std::map<std::string, uint64_t>{{"cannot connect (127.0.0.1:1): Connection refused", 3}});
  o.url = "nowhere:x";
  CHECK_THROWS_AS(measure_completions(o), load_error);
}

TEST_CASE("load --completions: without usage every event with text counts as a token") {
  streaming_server server("/v1/completions", [](const nlohmann::json&, http_reply reply) {
    auto stream = streaming_server::begin(reply);
    for (int i = 0; i < 5; ++i) stream.write(completion_chunk("x"));
    stream.write(event_of("[DONE]"));
    stream.end();
  });
  auto o = options(server);
  o.requests = 1;
  const auto r = measure_completions(o);
  CHECK(r.output_tokens == 5);
  CHECK(r.itl.count() == 4);
}

TEST_CASE("load --completions: requests depend on the seed, not on their times") {
  completion_load_options o{.url = "", .model = "m"};
  o.adapters = {"first", "second", "third"};
  o.zipf = 2;
  o.prompt_tokens = 6;
  o.token_bound = 100;
  const completion_requests a(o);
  const auto b = o;
  const completion_requests same(b);
  std::map<std::string, int> asked;
  std::set<std::string> bodies;
  for (uint64_t i = 0; i < 1000; ++i) {
    const auto request = a.make(i);
    CHECK(same.make(i).body == request.body);
    ++asked[request.model];
    bodies.insert(request.body);
    const auto j = nlohmann::json::parse(request.body);
    CHECK(j["model"] == request.model);
    CHECK(j["prompt"].size() == 6);
    CHECK(std::ranges::all_of(j["prompt"], [](const nlohmann::json& id) { return id.get<int>() < 100; }));
  }
  CHECK(bodies.size() == 1000);
  // 1, 1/4 and 1/9 of 49/36; within five standard deviations
  CHECK(std::abs(asked["first"] - 735) < 70);
  CHECK(std::abs(asked["second"] - 184) < 62);
  CHECK(std::abs(asked["third"] - 82) < 44);
  o.seed = 2;
  CHECK(completion_requests(o).make(0).body != same.make(0).body);
}
