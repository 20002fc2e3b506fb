#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "messages/common/json_text.hpp"
#include "transport/http/message.hpp"
#include "transport/kserve/v2.hpp"

namespace troupe {
namespace {

using json = nlohmann::ordered_json;

json describe(const model_signature& s, const std::vector<tensor_spec>& tensors) {
  auto list = json::array();
  for (const auto& t : tensors)
    list.push_back({{"name", t.name}, {"datatype", to_string(t.type)}, {"shape", s.whole(t, -1).shape}});
  return list;
}

/// A server of models without batches gives whole shapes.
std::vector<tensor_spec> tensors_of(const json& list, bool batched) {
  std::vector<tensor_spec> tensors;
  for (const auto& x : list) {
    tensor_spec t{.name = x.at("name").get<std::string>(),
                  .shape = x.at("shape").get<std::vector<int64_t>>()};
    const auto type = x.at("datatype").get<std::string>();
    if (!parse_data_type(type, t.type)) throw http_error{502, "unknown datatype " + json_quote(type)};
    if (batched) t.shape.erase(t.shape.begin());
    tensors.push_back(std::move(t));
  }
  return tensors;
}

/// All tensors have a free first dimension.
bool has_batches(const json& tensors) {
  return std::ranges::all_of(tensors, [](const json& x) {
    const auto& shape = x.at("shape");
    return !shape.empty() && shape[0] == -1;
  });
}

}  // namespace

std::string format_model_metadata(const model_identity& model, std::string_view platform,
                                  const model_signature& signature, const model_limits& limits) {
  json j{{"name", model.name},
         {"versions", {model.version}},
         {"platform", platform},
         {"inputs", describe(signature, signature.inputs)},
         {"outputs", describe(signature, signature.outputs)}};
  if (limits.slo_ms > 0) j["parameters"]["slo_ms"] = limits.slo_ms;
  if (limits.max_rows > 0) j["parameters"]["max_rows"] = limits.max_rows;
  return json_text(j);
}

http_result<model_metadata> parse_model_metadata(std::string_view body) {
  try {
    const auto j = json::parse(body);
    model_metadata m;
    m.model.name = j.at("name").get<std::string>();
    if (const auto& versions = j.at("versions"); !versions.empty())
      m.model.version = versions[0].get<std::string>();
    m.signature.batched = has_batches(j.at("inputs")) && has_batches(j.at("outputs"));
    m.signature.inputs = tensors_of(j.at("inputs"), m.signature.batched);
    m.signature.outputs = tensors_of(j.at("outputs"), m.signature.batched);
    if (const auto p = j.find("parameters"); p != j.end())
      m.limits = {.slo_ms = p->value("slo_ms", 0.0), .max_rows = p->value("max_rows", 0u)};
    return m;
  } catch (http_error& e) {
    return std::move(e);
  } catch (const json::exception& e) {
    return http_error{502, fmt::format("no model metadata: {}", e.what())};
  }
}

std::string format_server_metadata(std::string_view version) {
  return json{{"name", "troupe"},
              {"version", version},
              {"extensions",
               {"binary_tensor_data", "classification", "model_configuration", "model_repository",
                "parameters", "statistics"}}}
      .dump();
}

}  // namespace troupe
