#include "actors/frontend/kserve_documents.hpp"

#include <nlohmann/json.hpp>

#include "actors/frontend/image_inputs.hpp"
#include "messages/common/json_text.hpp"

namespace troupe {
namespace {

using json = nlohmann::ordered_json;

/// The name of a type in a model configuration.
std::string config_type(data_type t) {
  return t == data_type::bytes ? "TYPE_STRING" : "TYPE_" + std::string(to_string(t));
}

json tensors(const std::vector<tensor_spec>& specs) {
  auto list = json::array();
  for (const auto& t : specs)
    list.push_back({{"name", t.name}, {"data_type", config_type(t.type)}, {"dims", t.shape}});
  return list;
}

json counted(const timed_count& c) { return {{"count", c.count}, {"ns", c.total.count()}}; }

json counted(const model_statistics& m) {
  return {{"success", counted(m.success)},
          {"fail", counted(m.fail)},
          {"queue", counted(m.requests.queue)},
          {"compute_input", counted(m.requests.compute_input)},
          {"compute_infer", counted(m.requests.compute_infer)},
          {"compute_output", counted(m.requests.compute_output)},
          {"cache_hit", counted(timed_count{})},
          {"cache_miss", counted(timed_count{})}};
}

json by_batch_size(const model_statistics& m) {
  auto list = json::array();
  for (const auto& [rows, steps] : m.batches)
    list.push_back({{"batch_size", rows},
                    {"compute_input", counted(steps.compute_input)},
                    {"compute_infer", counted(steps.compute_infer)},
                    {"compute_output", counted(steps.compute_output)}});
  return list;
}

}  // namespace

std::string format_model_config(const catalog::entry& m) {
  const auto slo = nlohmann::json(to_ms(m.slo)).dump();
  json j{{"name", m.name},
         {"platform", "troupe_onnx"},
         {"backend", "troupe"},
         {"version_policy", {{"latest", {{"num_versions", 1}}}}},
         {"max_batch_size", m.signature.batched ? m.max_batch : 0},
         {"input", tensors(signature_for_clients(m).inputs)},
         {"output", tensors(m.signature.outputs)}};
  if (m.signature.batched) j["dynamic_batching"] = json::object();
  j["parameters"] = {{"slo_ms", {{"string_value", slo}}}};
  return json_text(j);
}

std::string format_repository_index(const std::vector<catalog::view>& models,
                                    const std::vector<catalog::closed_model>& closed, bool ready_only) {
  auto list = json::array();
  const auto add = [&](const std::string& name, const char* state, const char* reason) {
    list.push_back({{"name", name}, {"version", "1"}, {"state", state}, {"reason", reason}});
  };
  for (const auto& m : models) {
    const bool ready = m->slots > 0, seen = !m->signature.inputs.empty();
    if (ready)
      add(m->name, "READY", "");
    else if (!ready_only)
      add(m->name, seen ? "UNAVAILABLE" : "LOADING", seen ? "no worker has it now" : "");
  }
  if (!ready_only)
    for (const auto& m : closed)
      add(m.name, m.unloading ? "UNLOADING" : "UNAVAILABLE", m.unloading ? "" : "unloaded");
  return json_text(list);
}

std::string format_statistics(const std::vector<std::pair<std::string, model_statistics>>& models,
                              time_point unix_epoch) {
  auto list = json::array();
  for (const auto& [name, m] : models) {
    const auto last = m.last_inference == never ? duration{0} : m.last_inference - unix_epoch;
    list.push_back({{"name", name},
                    {"version", "1"},
                    {"last_inference", last / 1ms},
                    {"inference_count", m.inferences},
                    {"execution_count", m.executions},
                    {"inference_stats", counted(m)},
                    {"batch_stats", by_batch_size(m)}});
  }
  return json_text(json{{"model_stats", std::move(list)}});
}

}  // namespace troupe
