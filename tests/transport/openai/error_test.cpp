#include "transport/openai/error.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace troupe::openai {
namespace {

using nlohmann::json;

TEST_CASE("an error is OpenAI's object, with null for absent fields") {
  CHECK(
      json::parse(error_body({400, "n: must be \"1\"", "n", ""})) ==
      json::parse(R"({"error": {"message": "n: must be \"1\"", "type": "invalid_request_error", "param": "n",
                                  "code": null}})"));
  CHECK(json::parse(error_body(model_not_found("a\"b"))) ==
        json::parse(
            R"({"error": {"message": "The model \"a\\\"b\" does not exist.", "type": "invalid_request_error",
                                  "param": "model", "code": "model_not_found"}})"));
  CHECK(model_not_found("x").status == 404);
  CHECK(json::accept(error_body({500, "broken \xff text", "", ""})));
}

TEST_CASE("every status has OpenAI's type, and some their code") {
  const auto told = [](unsigned status) {
    const auto e = json::parse(error_body({status, "m", "", ""}))["error"];
    return e["type"].get<std::string>() + " " + e["code"].dump();
  };
  CHECK(told(400) == "invalid_request_error null");
  CHECK(told(404) == "invalid_request_error null");
  CHECK(told(413) == "invalid_request_error null");
  CHECK(told(401) == "authentication_error \"invalid_api_key\"");
  CHECK(told(403) == "permission_error null");
  CHECK(told(429) == "rate_limit_error \"rate_limit_exceeded\"");
  CHECK(told(500) == "server_error null");
  CHECK(told(503) == "server_error null");
  CHECK(told(504) == "timeout_error null");
  CHECK(json::parse(error_body({429, "m", "", "insufficient_quota"}))["error"]["code"] ==
        "insufficient_quota");
}

TEST_CASE("an error response has Retry-After") {
  const auto r = error_response({429, "slow down", "", ""}, 1500ms);
  CHECK(r.status == 429);
  CHECK(r.content_type == "application/json");
  CHECK(r.headers.find("Retry-After") == "2");
  CHECK(json::parse(r.body)["error"]["message"] == "slow down");
  CHECK(error_response({503, "m", "", ""}, 0ms).headers.find("Retry-After") == "1");
  CHECK_FALSE(error_response({400, "m", "", ""}).headers.find("Retry-After"));
}

}  // namespace
}  // namespace troupe::openai
