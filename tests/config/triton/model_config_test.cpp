#include "config/triton/model_config.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using triton::read_model_config;

namespace {

triton::model_config_reading read_text(std::string_view text) {
  return read_model_config(text, "m/config.pbtxt", "m");
}

std::string lines(const std::vector<problem>& problems) {
  std::string out;
  for (const auto& p : problems) out += (out.empty() ? "" : "\n") + to_string(p);
  return out;
}

std::string problems_of(std::string_view text) { return lines(read_text(text).problems); }
std::string ignored_of(std::string_view text) { return lines(read_text(text).ignored); }

}  // namespace

TEST_CASE("model config: tensors, batches, versions, the file and the timeout are read") {
  const auto r = read_text(R"(name: "m"
platform: "onnxruntime_onnx"
backend: "onnxruntime"
max_batch_size: 8
input [
  { name: "ids" data_type: TYPE_INT64 dims: [ -1 ] },
  { name: "mask"
    data_type: TYPE_BOOL dims: 3 dims: 4 }
]
output { name: "y" data_type: TYPE_FP32 dims: [ 2 ] }
version_policy: { specific: { versions: [ 3 ] } }
default_model_filename: "net.onnx"
dynamic_batching { default_queue_policy { default_timeout_microseconds: 250000 } }
)");
  CHECK(lines(r.problems) == "");
  CHECK(lines(r.ignored) == "");
  const auto& c = r.config;
  CHECK(c.max_batch == 8);
  REQUIRE(c.inputs.size() == 2);
  CHECK(c.inputs[0].name == "ids");
  CHECK(c.inputs[0].type == data_type::int64);
  CHECK(c.inputs[0].dims == std::vector<int64_t>{triton::free_dimension});
  CHECK(c.inputs[1].dims == std::vector<int64_t>{3, 4});
  CHECK(c.inputs[1].where == file_position{"m/config.pbtxt", 7, 5});
  CHECK(c.outputs[0].name == "y");
  CHECK(c.versions.specific == std::vector<int64_t>{3});
  CHECK(c.model_file == "net.onnx");
  CHECK(c.timeout == 250ms);
}

TEST_CASE("model config: an empty one has the defaults of a model without a configuration") {
  const auto r = read_text("");
  CHECK(r.problems.empty());
  CHECK_FALSE(r.config.max_batch);
  CHECK(r.config.versions.latest == 1);
  CHECK(r.config.model_file == "model.onnx");
  CHECK_FALSE(r.config.timeout);
  CHECK(read_text("max_batch_size: 0").config.max_batch == 0);
  CHECK(read_text("version_policy { latest { num_versions: 2 } }").config.versions.latest == 2);
  CHECK(read_text("version_policy { latest { } }").config.versions.latest == 1);
  CHECK_FALSE(read_text("version_policy { all { } }").config.versions.latest);
}

TEST_CASE("model config: fields without effect are named with their places and reasons") {
  CHECK(ignored_of("instance_group [ { kind: KIND_CPU count: 2 }, { kind: KIND_CPU } ]") ==
        "m/config.pbtxt:1:35: instance_group.count has no effect: a model has one instance; --threads gives "
        "its "
        "threads");
  CHECK(
      ignored_of("\n  parameters { key: \"intra_op_thread_count\" value: { string_value: \"2\" } }\n"
                 "parameters: [ { key: \"x\" } ]") ==
      "m/config.pbtxt:2:3: parameters has no effect: they are for ONNX Runtime; --threads gives the threads");
  const auto batching = read_text(R"(dynamic_batching {
  preferred_batch_size: [ 4, 8 ]
  max_queue_delay_microseconds: 100
  priority_queue_policy { key: 1 value: { max_queue_size: 3 } }
})");
  CHECK(batching.problems.empty());
  REQUIRE(batching.ignored.size() == 3);
  CHECK(to_string(batching.ignored[1]) ==
        "m/config.pbtxt:3:3: dynamic_batching.max_queue_delay_microseconds has no effect: deadlines decide "
        "how long "
        "a request may wait; a batch starts when a device is free");
  for (const std::string field :
       {"optimization { graph { level: 1 } cuda { graphs: true graph_spec [ { batch_size: 1 } ] } }",
        "model_warmup [ { name: \"w\" batch_size: 1 inputs { key: \"x\" value: { dims: [ 1, 2 ] } } } ]",
        "response_cache { enable: true }", "metric_tags { key: \"a\" value: \"b\" }", "runtime: \"lib.so\"",
        "model_metrics { metric_control: [ { histogram_options: { buckets: [ 0.1, -2, 1e3 ] } } ] }",
        "input [ { name: \"x\" format: FORMAT_NCHW } ]",
        "output [ { name: \"y\" label_filename: \"l.txt\" } ]"}) {
    CAPTURE(field);
    CHECK(problems_of(field) == "");
    CHECK(read_text(field).ignored.size() == 1);
  }
  CHECK(ignored_of("model_transaction_policy { decoupled: false }") == "");
}

TEST_CASE("model config: fields that would change answers are refused by name") {
  CHECK(problems_of("\nensemble_scheduling { step [ { model_name: \"a\" } ] }") ==
        "m/config.pbtxt:2:1: ensemble_scheduling is not supported: a model is one ONNX file; its clients "
        "combine "
        "models");
  CHECK(problems_of("instance_group [ { kind: KIND_CPU }, { count: 1\n kind: KIND_GPU } ]") ==
        "m/config.pbtxt:2:2: instance_group.kind KIND_GPU is not supported: troupe serve runs models on the "
        "CPU; use "
        "KIND_CPU or remove it");
  for (const std::string field :
       {"sequence_batching { max_sequence_idle_microseconds: 5 state [ { dims: [ 1 ] } ] }",
        "model_transaction_policy { decoupled: true }",
        "input { name: \"x\" dims: [ 4 ] reshape { shape: [ 2, 2 ] } }",
        "output { name: \"y\" dims: [ 1 ] reshape { shape: [ ] } }",
        "input { name: \"x\" allow_ragged_batch: true }", "batch_input [ { target_name: \"n\" } ]",
        "model_repository_agents { agents [ { name: \"checksum\" } ] }"}) {
    CAPTURE(field);
    CHECK(problems_of(field).find("is not supported: ") != std::string::npos);
    CHECK(read_text(field).problems.size() == 1);
  }
}

TEST_CASE("model config: wrong values are named together, by place") {
  CHECK(problems_of("name: \"other\"\nplatform: \"tensorrt_plan\"\nbackend: \"python\"\nmax_batch_size: -1\n"
                    "default_model_filename: \"../x\"\nversion_policy { specific { } }") ==
        "m/config.pbtxt:1:1: name: is 'other', and the model's folder 'm'; rename one\n"
        "m/config.pbtxt:2:1: platform: 'tensorrt_plan' is not supported; only onnxruntime_onnx is\n"
        "m/config.pbtxt:3:1: backend: 'python' is not supported; only onnxruntime is\n"
        "m/config.pbtxt:4:1: max_batch_size: must be from 0 to 65536, not -1\n"
        "m/config.pbtxt:5:1: default_model_filename: must be the name of a file in the folder of a version\n"
        "m/config.pbtxt:6:1: version_policy: specific has no versions");
  CHECK(problems_of("input { name: \"x\" dims: [ 0 ] }\ninput { dims: [ 1 ] }\ninput { name: \"x\" }") ==
        "m/config.pbtxt:1:9: input: 'x' has the dimension 0; dims are from 1 to 2147483647, or -1\n"
        "m/config.pbtxt:2:1: input: has no name\n"
        "m/config.pbtxt:3:9: input: 'x' is given twice");
  CHECK(read_text("dynamic_batching { default_queue_policy { default_timeout_microseconds: "
                  "18446744073709551615 } }")
            .config.timeout == 1h);
  CHECK_FALSE(read_text("dynamic_batching { default_queue_policy { timeout_action: DELAY "
                        "default_timeout_microseconds: 2000 } }")
                  .config.timeout);
}
