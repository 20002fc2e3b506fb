#include "actors/frontend/kserve_documents.hpp"

#include <doctest/doctest.h>

namespace troupe {
namespace {

catalog::entry mlp_entry(uint32_t slots) {
  catalog::entry e;
  e.name = "mlp";
  e.slo = 50ms;
  e.max_batch = 16;
  e.signature = {{{"x", data_type::fp32, {3, 4}}}, {{"y", data_type::bytes, {}}}};
  e.slots = slots;
  return e;
}

TEST_CASE("a configuration has the types and shapes of one row") {
  CHECK(
      format_model_config(mlp_entry(1)) ==
      R"({"name":"mlp","platform":"troupe_onnx","backend":"troupe","version_policy":{"latest":{"num_versions":1}},)"
      R"("max_batch_size":16,"input":[{"name":"x","data_type":"TYPE_FP32","dims":[3,4]}],)"
      R"("output":[{"name":"y","data_type":"TYPE_STRING","dims":[]}],"dynamic_batching":{},)"
      R"("parameters":{"slo_ms":{"string_value":"50.0"}}})");
}

TEST_CASE("bytes of names that are not UTF-8 are replaced in JSON") {
  auto strange = mlp_entry(1);
  strange.signature.inputs[0].name = "x\xff";
  CHECK(format_model_config(strange).find(R"("input":[{"name":"x�",)") != std::string::npos);
}

TEST_CASE("the index lists the ready models, and the reasons of the others") {
  auto loading = mlp_entry(0);
  loading.signature = {};
  std::vector<catalog::view> models;
  for (const auto& m : {mlp_entry(1), mlp_entry(0), loading})
    models.push_back(std::make_shared<const catalog::entry>(m));
  const std::vector<catalog::closed_model> closed{{"old", false}, {"older", true}};
  CHECK(format_repository_index(models, closed, true) ==
        R"([{"name":"mlp","version":"1","state":"READY","reason":""}])");
  CHECK(format_repository_index(models, closed, false) ==
        R"([{"name":"mlp","version":"1","state":"READY","reason":""},)"
        R"({"name":"mlp","version":"1","state":"UNAVAILABLE","reason":"no worker has it now"},)"
        R"({"name":"mlp","version":"1","state":"LOADING","reason":""},)"
        R"({"name":"old","version":"1","state":"UNAVAILABLE","reason":"unloaded"},)"
        R"({"name":"older","version":"1","state":"UNLOADING","reason":""}])");
}

TEST_CASE("statistics are counts and nanoseconds, and the last inference is in wall-clock time") {
  model_statistics m;
  m.last_inference = time_point{10s};
  m.inferences = 5;
  m.executions = 2;
  m.success = {3, 7us};
  m.batches[4].compute_infer = {2, 5us};
  CHECK(
      format_statistics({{"mlp", m}}, time_point{-1000s}) ==
      R"({"model_stats":[{"name":"mlp","version":"1","last_inference":1010000,"inference_count":5,"execution_count":2,)"
      R"("inference_stats":{"success":{"count":3,"ns":7000},"fail":{"count":0,"ns":0},"queue":{"count":0,"ns":0},)"
      R"("compute_input":{"count":0,"ns":0},"compute_infer":{"count":0,"ns":0},"compute_output":{"count":0,"ns":0},)"
      R"("cache_hit":{"count":0,"ns":0},"cache_miss":{"count":0,"ns":0}},)"
      R"("batch_stats":[{"batch_size":4,"compute_input":{"count":0,"ns":0},"compute_infer":{"count":2,"ns":5000},)"
      R"("compute_output":{"count":0,"ns":0}}]}]})");
  CHECK(format_statistics({}, time_point{}) == R"({"model_stats":[]})");
}

}  // namespace
}  // namespace troupe
