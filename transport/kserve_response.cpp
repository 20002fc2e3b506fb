#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "fmt/format.h"
#include "transport/http_message.hpp"
#include "transport/kserve_v2.hpp"

namespace troupe {
namespace {

template <class T>
void append_values(std::string& out, const tensor_spec& t, std::span<const std::byte> bytes) {
  char digits[32];
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    if (i > 0) out += ',';
    if constexpr (std::is_floating_point_v<T>)
      if (!std::isfinite(value))
        throw http_error{
            500, fmt::format("the model gave {} in element {} of output {}, which has no JSON form", value, i,
                             json_quote(t.name))};
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    out.append(digits, end);
  }
}

void append_booleans(std::string& out, std::span<const std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0) out += ',';
    out += bytes[i] != std::byte{} ? "true" : "false";
  }
}

void append_data(std::string& out, const tensor_spec& t, std::span<const std::byte> bytes) {
  switch (t.type) {
    case data_type::boolean: return append_booleans(out, bytes);
    case data_type::uint8: return append_values<uint8_t>(out, t, bytes);
    case data_type::uint16: return append_values<uint16_t>(out, t, bytes);
    case data_type::uint32: return append_values<uint32_t>(out, t, bytes);
    case data_type::uint64: return append_values<uint64_t>(out, t, bytes);
    case data_type::int8: return append_values<int8_t>(out, t, bytes);
    case data_type::int16: return append_values<int16_t>(out, t, bytes);
    case data_type::int32: return append_values<int32_t>(out, t, bytes);
    case data_type::int64: return append_values<int64_t>(out, t, bytes);
    case data_type::fp32: return append_values<float>(out, t, bytes);
    case data_type::fp64: return append_values<double>(out, t, bytes);
    case data_type::fp16:
    case data_type::bf16:
      throw http_error{
          400, fmt::format("output {} is {}, which has no JSON form", json_quote(t.name), to_string(t.type))};
  }
}

void append_output(std::string& out, const tensor_spec& t, uint32_t rows, std::span<const std::byte> bytes) {
  fmt::format_to(std::back_inserter(out), R"({{"name":{},"datatype":"{}","shape":[{})", json_quote(t.name),
                 to_string(t.type), rows);
  for (auto d : t.shape) fmt::format_to(std::back_inserter(out), ",{}", d);
  out += R"(],"data":[)";
  append_data(out, t, bytes);
  out += "]}";
}

nlohmann::ordered_json describe(const std::vector<tensor_spec>& tensors) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& t : tensors) {
    auto shape = nlohmann::ordered_json::array({-1});
    for (auto d : t.shape) shape.push_back(d);
    list.push_back({{"name", t.name}, {"datatype", to_string(t.type)}, {"shape", std::move(shape)}});
  }
  return list;
}

}  // namespace

http_result<std::string> format_infer(const model_identity& model, const infer_request& request,
                                      const model_signature& signature, std::span<const std::byte> outputs,
                                      uint32_t batch_rows) {
  if (outputs.size() != request.rows * output_row_bytes(signature))
    return http_error{500, "the outputs of the model have the wrong size"};
  try {
    std::string out;
    out.reserve(256 + outputs.size() * 3);
    fmt::format_to(std::back_inserter(out), R"({{"model_name":{},"model_version":{})", json_quote(model.name),
                   json_quote(model.version));
    if (!request.id.empty()) out += ",\"id\":" + json_quote(request.id);
    if (batch_rows > 0)
      fmt::format_to(std::back_inserter(out), R"(,"parameters":{{"batch_rows":{}}})", batch_rows);
    out += ",\"outputs\":[";
    for (bool first = true; auto index : request.outputs) {
      size_t offset = 0;
      for (uint32_t i = 0; i < index; ++i) offset += request.rows * row_bytes(signature.outputs[i]);
      if (!std::exchange(first, false)) out += ',';
      const auto& t = signature.outputs[index];
      append_output(out, t, request.rows, outputs.subspan(offset, request.rows * row_bytes(t)));
    }
    out += "]}";
    return out;
  } catch (http_error& e) {
    return std::move(e);
  }
}

std::string format_model_metadata(const model_identity& model, std::string_view platform,
                                  const model_signature& signature, const model_limits& limits) {
  nlohmann::ordered_json j{{"name", model.name},
                           {"versions", {model.version}},
                           {"platform", platform},
                           {"inputs", describe(signature.inputs)},
                           {"outputs", describe(signature.outputs)}};
  if (limits.slo_ms > 0) j["parameters"]["slo_ms"] = limits.slo_ms;
  if (limits.max_rows > 0) j["parameters"]["max_rows"] = limits.max_rows;
  return j.dump();
}

std::string format_server_metadata(std::string_view version) {
  return nlohmann::ordered_json{
      {"name", "troupe"}, {"version", version}, {"extensions", nlohmann::ordered_json::array()}}
      .dump();
}

}  // namespace troupe
