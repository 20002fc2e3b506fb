#include "tools/load/client.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "tools/client/http_client.hpp"
#include "transport/http/router.hpp"
#include "transport/kserve/v2.hpp"

namespace troupe {
namespace {

const model_signature token_model{.inputs = {{"ids", data_type::int64, {4}}, {"scale", data_type::fp32, {}}},
                                  .outputs = {{"y", data_type::fp32, {1}}}};

const model_signature half_model{.inputs = {{"x", data_type::fp16, {2}}, {"b", data_type::bf16, {}}},
                                 .outputs = {{"y", data_type::fp16, {1}}}};

float value_of_half(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const auto size = std::ldexp(1024.0F + static_cast<float>(bits & 0x3ff), exponent - 25);
  return bits == 0 ? 0 : (bits & 0x8000) != 0 ? -size : size;
}

/// Serves two models: "good" answers batches of 3, "busy" drops every second request; and "half", which it
/// does not list.
class cluster {
 public:
  cluster() : server_({}, router_) {
    router_.add("GET", "/v2/models", [](http_request, const path_parameters&, http_reply reply) {
      reply.send({.headers = {}, .body = R"({"models":[{"name":"good"},{"name":"busy"}]})"});
    });
    router_.add("GET", "/v2/models/{model}", [](http_request, const path_parameters& p, http_reply reply) {
      if (p["model"] == "absent") return reply.send(http_error_response(404, "no such model"));
      reply.send(
          {.headers = {},
           .body = format_model_metadata({p["model"]}, "test", signature(p["model"]), {.slo_ms = 60'000})});
    });
    router_.add("POST", "/v2/models/{model}/infer",
                [this](http_request r, const path_parameters& p, http_reply reply) {
                  infer(std::move(r), p["model"], std::move(reply));
                });
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }

  std::mutex mutex;
  std::unordered_set<std::string> bodies;
  std::atomic<int> invalid{0};

 private:
  static const model_signature& signature(std::string_view model) {
    return model == "half" ? half_model : token_model;
  }
  void infer(http_request r, const std::string& model, http_reply reply) {
    {
      std::lock_guard lock(mutex);
      bodies.insert(r.body);
    }
    const auto& s = signature(model);
    const auto body = split_infer_body(r.body, r.headers.find("Inference-Header-Content-Length"));
    const auto request = parse_infer(body ? *body : infer_body{}, s, 8);
    if (!request) {
      ++invalid;
      return reply.send(http_error_response(request.error().status, request.error().message));
    }
    std::vector<std::byte> input(request->input_bytes);
    if (write_inputs(*request, s, input)) ++invalid;
    if (model == "half") return answer_half(*request, input, std::move(reply));
    for (size_t i = 0; i < request->rows * 4; ++i) {
      int64_t id;
      std::memcpy(&id, input.data() + i * 8, 8);
      if (id < 0 || id > 50) ++invalid;
    }
    if (model == "busy" && ++busy_ % 2 == 0)
      return reply.send(
          {.status = 503, .headers = {{"Retry-After", "1"}}, .body = R"({"error":"x","reason":"late"})"});
    const std::vector<std::byte> output(request->rows * 4);
    reply.send({.headers = {}, .body = format_infer({model}, *request, token_model, output, 3)->body});
  }

  void answer_half(const infer_request& request, const std::vector<std::byte>& input, http_reply reply) {
    for (size_t i = 0; i < request.rows * 3; ++i) {
      uint16_t bits;
      std::memcpy(&bits, input.data() + i * 2, 2);
      const auto x = i < request.rows * 2 ? value_of_half(bits) : std::bit_cast<float>(uint32_t{bits} << 16);
      if (!(std::abs(x) <= 1) || (x != 0 && std::abs(x) < 0.0009F)) ++invalid;
    }
    const std::vector<std::byte> output(request.rows * 2);
    auto written = format_infer({"half"}, request, half_model, output, 3);
    if (!written || !written->json_bytes) return reply.send(http_error_response(500, "no binary answer"));
    reply.send({.headers = {{"Inference-Header-Content-Length", std::to_string(*written->json_bytes)}},
                .body = std::move(written->body)});
  }

  std::atomic<int> busy_{0};
  http_router router_;
  http_server server_;
};

load_options options(const cluster& c) {
  load_options o;
  o.url = c.url();
  o.arrivals = {.kind = arrival_kind::poisson, .rate = 400};
  o.length = 500ms;
  return o;
}

TEST_CASE("a load run accounts for every request that was due") {
  cluster c;
  const auto report = measure_load(options(c));
  REQUIRE(report.models.size() == 2);
  const auto& good = report.models[0].counts;
  const auto& busy = report.models[1].counts;
  CHECK(good.sent > 40);
  CHECK(good.finished == good.sent);
  CHECK(good.good == good.finished);
  CHECK(good.latency.count() == good.finished);
  CHECK(good.batch_rows == 3 * good.batched);
  CHECK(good.batched == good.finished);
  CHECK(busy.finished + busy.dropped == busy.sent);
  CHECK(busy.dropped == busy.sent / 2);
  CHECK(busy.reasons == std::map<std::string, uint64_t>{{"late", busy.dropped}});
  CHECK(c.invalid == 0);
  CHECK(c.bodies.size() > 1);

  const auto j = nlohmann::json::parse(load_json(report));
  CHECK(j["models"]["good"]["sent"] == good.sent);
  CHECK(j["models"]["good"]["mean_batch"] == 3.0);
  CHECK(j["total"]["dropped"] == busy.dropped);
  CHECK(load_table(report).find(std::to_string(busy.dropped) + " dropped: late\n") != std::string::npos);
}

TEST_CASE("the same seed sends the same inputs") {
  cluster a, b;
  auto o = options(a);
  o.models = {"good"};
  const auto first = measure_load(o);
  o.url = b.url();
  const auto second = measure_load(o);
  CHECK(first.models[0].counts.sent == second.models[0].counts.sent);
  CHECK(a.bodies == b.bodies);
}

TEST_CASE("tensors without a JSON form are sent and requested as binary data") {
  cluster c;
  auto o = options(c);
  o.models = {"half"};
  o.rows = 3;
  const auto report = measure_load(o);
  const auto& half = report.models.at(0).counts;
  CHECK(half.sent > 40);
  CHECK(half.finished == half.sent);
  CHECK(half.batch_rows == 3 * half.finished);
  CHECK(c.invalid == 0);
  CHECK(c.bodies.size() > 1);
}

TEST_CASE("inputs from a file are sent row by row") {
  cluster c;
  const auto path =
      std::filesystem::temp_directory_path() / ("load_rows." + std::to_string(c.url().size()) + ".bin");
  std::vector<char> row(36);
  row[0] = 7;
  const float half = 0.5;
  std::memcpy(row.data() + 32, &half, 4);
  std::ofstream(path, std::ios::binary).write(row.data(), 36);
  auto o = options(c);
  o.models = {"good"};
  o.rows = 2;
  o.slo_ms = 5000;
  o.input = path;
  measure_load(o);
  REQUIRE(c.bodies.size() == 1);
  CHECK(
      *c.bodies.begin() ==
      R"({"parameters":{"slo_ms":5000},"inputs":[{"name":"ids","datatype":"INT64","shape":[2,4],"data":[7,0,0,0,7,0,0,0]},)"
      R"({"name":"scale","datatype":"FP32","shape":[2],"data":[0.5,0.5]}]})");
  std::ofstream(path, std::ios::binary).write(row.data(), 35);
  CHECK_THROWS_WITH_AS(
      measure_load(o),
      (path.string() + ": 35 bytes are not a whole number of rows of model good, with 36 bytes per row")
          .c_str(),
      load_input_error);
  std::filesystem::remove(path);
}

TEST_CASE("a load that cannot begin reports the reason") {
  cluster c;
  auto o = options(c);
  o.models = {"absent"};
  CHECK_THROWS_WITH_AS(
      measure_load(o),
      R"(GET /v2/models/absent answered 404: {"error":"no such model"}; is the model served there?)",
      load_error);
  o.url = "ftp:/";
  CHECK_THROWS_WITH_AS(measure_load(o), R"("ftp:/" is not http://HOST:PORT)", load_input_error);
  o.url = "http://127.0.0.1:1";
  CHECK_THROWS_WITH_AS(measure_load(o),
                       "cannot connect (127.0.0.1:1): Connection refused; is the model served there?",
                       load_error);
  o.input = "/nowhere/rows.bin";  // refused before any request is sent
  CHECK_THROWS_WITH_AS(measure_load(o), "/nowhere/rows.bin: cannot be read: No such file or directory",
                       load_input_error);
}

}  // namespace
}  // namespace troupe
