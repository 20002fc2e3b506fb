#include <fmt/format.h>
#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

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
        throw http_error{500, fmt::format("tensor {} has {} in element {}, which has no JSON form",
                                          json_quote(t.name), value, i)};
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
    case data_type::bytes:
      throw http_error{
          400, fmt::format("tensor {} is {}, which has no JSON form", json_quote(t.name), to_string(t.type))};
  }
}

void append_tensor(std::string& out, const tensor_spec& t, uint32_t rows, std::span<const std::byte> bytes) {
  fmt::format_to(std::back_inserter(out), R"({{"name":{},"datatype":"{}","shape":[{})", json_quote(t.name),
                 to_string(t.type), rows);
  for (auto d : t.shape) fmt::format_to(std::back_inserter(out), ",{}", d);
  out += R"(],"data":[)";
  append_data(out, t, bytes);
  out += "]}";
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
      append_tensor(out, t, request.rows, outputs.subspan(offset, request.rows * row_bytes(t)));
    }
    out += "]}";
    return out;
  } catch (http_error& e) {
    return std::move(e);
  }
}

http_result<std::string> format_infer_request(const model_signature& signature, uint32_t rows,
                                              std::span<const std::byte> inputs,
                                              std::optional<double> slo_ms) {
  if (inputs.size() != rows * input_row_bytes(signature))
    return http_error{400, "the inputs have the wrong size"};
  try {
    std::string out = "{";
    if (slo_ms) fmt::format_to(std::back_inserter(out), R"("parameters":{{"slo_ms":{}}},)", *slo_ms);
    out += "\"inputs\":[";
    for (size_t i = 0, offset = 0; i < signature.inputs.size(); ++i) {
      const auto& t = signature.inputs[i];
      if (i > 0) out += ',';
      append_tensor(out, t, rows, inputs.subspan(offset, rows * row_bytes(t)));
      offset += rows * row_bytes(t);
    }
    out += "]}";
    return out;
  } catch (http_error& e) {
    return std::move(e);
  }
}

}  // namespace troupe
