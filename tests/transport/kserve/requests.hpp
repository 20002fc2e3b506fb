// Inference requests in JSON for tests, and the result of reading them.
#pragma once
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "transport/kserve/v2.hpp"

namespace troupe::testing {

inline constexpr uint32_t max_rows = 8;

inline model_signature one_input(data_type type, std::vector<int64_t> shape) {
  return {.inputs = {{"x", type, std::move(shape)}},
          .outputs = {{"y", data_type::fp32, {2}}, {"z", data_type::int64, {}}}};
}
inline const model_signature fp32_by_3 = one_input(data_type::fp32, {3});

inline unsigned status_of(const std::string& refusal) {
  return refusal.find("shared memory") != std::string::npos ? 501 : 400;
}

/// The bytes of the request, or the message of its refusal (a 400; a 501 for shared memory).
struct taken_request {
  std::vector<std::byte> bytes;
  std::string error;
  infer_request request;
};
inline taken_request take(std::string_view body, const model_signature& s = fp32_by_3) {
  taken_request o;
  auto request = parse_infer({body, {}}, s, max_rows);
  if (!request) {
    CHECK(request.error().status == status_of(request.error().message));
    o.error = request.error().message;
    return o;
  }
  o.bytes.resize(request->input_bytes);
  if (auto e = write_inputs(*request, s, o.bytes)) {
    CHECK(e->status == status_of(e->message));
    o.error = e->message;
  }
  o.request = *request;
  return o;
}
inline std::string refusal(std::string_view body, const model_signature& s = fp32_by_3) {
  return take(body, s).error;
}

template <class T>
std::vector<T> values(const taken_request& o) {
  std::vector<T> v(o.bytes.size() / sizeof(T));
  std::memcpy(v.data(), o.bytes.data(), o.bytes.size());
  return v;
}

/// A request for one row of one scalar input "x".
template <class T>
T scalar(data_type type, std::string_view text) {
  const auto o = take(R"({"inputs":[{"name":"x","datatype":")" + std::string(to_string(type)) +
                          R"(","shape":[1],"data":[)" + std::string(text) + "]}]}",
                      one_input(type, {}));
  REQUIRE_MESSAGE(o.error == "", o.error);
  T value;
  REQUIRE(o.bytes.size() == sizeof value);
  std::memcpy(&value, o.bytes.data(), sizeof value);
  return value;
}
inline std::string scalar_refusal(data_type type, std::string_view text) {
  return refusal(R"({"inputs":[{"name":"x","datatype":")" + std::string(to_string(type)) +
                     R"(","shape":[1],"data":[)" + std::string(text) + "]}]}",
                 one_input(type, {}));
}

inline std::string x_with(std::string_view rest) {
  return R"({"inputs":[{"name":"x",)" + std::string(rest) + "}]}";
}

}  // namespace troupe::testing
