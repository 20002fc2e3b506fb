#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "transport/http/message.hpp"
#include "transport/kserve/classes.hpp"
#include "transport/kserve/refusal.hpp"
#include "transport/kserve/v2.hpp"
#include "transport/kserve/values.hpp"

namespace troupe {
namespace {

using namespace kserve;

void append_head(std::string& out, const tensor_spec& t) {
  fmt::format_to(std::back_inserter(out), R"({{"name":{},"datatype":"{}","shape":[{}])", json_quote(t.name),
                 to_string(t.type), fmt::join(t.shape, ","));
}

void append_tensor(std::string& out, const tensor_spec& t, std::span<const std::byte> values) {
  append_head(out, t);
  out += R"(,"data":[)";
  append_json(out, t, values);
  out += "]}";
}

/// Appends the values behind the JSON.
void append_binary(std::string& out, std::string& behind, const tensor_spec& t,
                   std::span<const std::byte> values) {
  append_head(out, t);
  fmt::format_to(std::back_inserter(out), R"(,"parameters":{{"binary_data_size":{}}}}})", values.size());
  behind.append(reinterpret_cast<const char*>(values.data()), values.size());
}

/// The tensors of a request or its response.
std::vector<tensor_spec> whole(const model_signature& s, const std::vector<tensor_spec>& tensors,
                               uint32_t rows) {
  std::vector<tensor_spec> out;
  for (const auto& t : tensors) out.push_back(s.whole(t, rows));
  return out;
}

/// The bytes of each.
std::vector<std::span<const std::byte>> shared_out(std::span<const std::byte> bytes,
                                                   const std::vector<tensor_spec>& tensors) {
  std::vector<std::span<const std::byte>> parts;
  for (const auto& t : tensors) {
    parts.push_back(first_of(bytes, t));
    bytes = bytes.subspan(parts.back().size());
    if (parts.back().size() < row_bytes(t)) bytes = {};
  }
  return parts;
}

bool complete(const std::vector<std::span<const std::byte>>& parts, size_t bytes,
              const std::vector<tensor_spec>& tensors) {
  size_t sum = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (tensors[i].type != data_type::bytes && parts[i].size() != row_bytes(tensors[i])) return false;
    sum += parts[i].size();
  }
  return sum == bytes;
}

/// Of a request. Elements of BYTES may be no text.
bool is_sent_as_json(const tensor_spec& t) { return has_json_form(t) && t.type != data_type::bytes; }

}  // namespace

http_result<written_body> format_infer(const model_identity& model, const infer_request& request,
                                       const model_signature& signature, std::span<const std::byte> outputs,
                                       uint32_t batch_rows) {
  const auto tensors = whole(signature, signature.outputs, request.rows);
  const auto values = shared_out(outputs, tensors);
  if (!complete(values, outputs.size(), tensors))
    return http_error{500, "the outputs of the model have the wrong size"};
  try {
    written_body response;
    auto& out = response.body;
    std::string behind;
    out.reserve(256 + outputs.size() * 3);
    fmt::format_to(std::back_inserter(out), R"({{"model_name":{},"model_version":{})", json_quote(model.name),
                   json_quote(model.version));
    if (!request.id.empty()) out += ",\"id\":" + json_quote(request.id);
    if (batch_rows > 0)
      fmt::format_to(std::back_inserter(out), R"(,"parameters":{{"batch_rows":{}}})", batch_rows);
    out += ",\"outputs\":[";
    bool any_binary = false;
    for (bool first = true; const auto& wanted : request.outputs) {
      if (!std::exchange(first, false)) out += ',';
      const auto& t = tensors[wanted.output];
      const auto append = [&](const tensor_spec& as, std::span<const std::byte> bytes) {
        any_binary |= wanted.binary;
        if (wanted.binary)
          append_binary(out, behind, as, bytes);
        else
          append_tensor(out, as, bytes);
      };
      if (wanted.classes == 0) {
        append(t, values[wanted.output]);
      } else {
        const auto classes = largest_values(values[wanted.output], signature.outputs[wanted.output],
                                            request.rows, wanted.classes);
        append(signature.whole({t.name, data_type::bytes, {wanted.classes}}, request.rows),
               std::as_bytes(std::span(classes)));
      }
    }
    out += "]}";
    if (any_binary) response.json_bytes = out.size();
    out += behind;
    return response;
  } catch (http_error& e) {
    return std::move(e);
  }
}

http_result<written_body> format_infer_request(const model_signature& signature, uint32_t rows,
                                               std::span<const std::byte> inputs,
                                               std::optional<double> slo_ms) {
  const auto tensors = whole(signature, signature.inputs, rows);
  const auto values = shared_out(inputs, tensors);
  if (!complete(values, inputs.size(), tensors)) return http_error{400, "the inputs have the wrong size"};
  try {
    written_body request;
    auto& out = request.body;
    std::string parameters, behind;
    if (slo_ms) parameters = fmt::format(R"("slo_ms":{})", *slo_ms);
    if (!std::ranges::all_of(signature.outputs, has_json_form))
      parameters += std::string(parameters.empty() ? "" : ",") + R"("binary_data_output":true)";
    out = "{";
    if (!parameters.empty()) out += R"("parameters":{)" + parameters + "},";
    out += "\"inputs\":[";
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (i > 0) out += ',';
      if (is_sent_as_json(tensors[i]))
        append_tensor(out, tensors[i], values[i]);
      else
        append_binary(out, behind, tensors[i], values[i]);
    }
    out += "]}";
    if (!std::ranges::all_of(tensors, is_sent_as_json)) request.json_bytes = out.size();
    out += behind;
    return request;
  } catch (http_error& e) {
    return std::move(e);
  }
}

}  // namespace troupe
