#include "tools/commands/triton_model.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

#include "config/cluster_file.hpp"
#include "gpu/common/model_error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/tools/commands/onnx_files.hpp"
#include "tools/commands/served_paths.hpp"

using namespace troupe;
namespace fs = std::filesystem;

namespace {

/// A repository with the model m.
struct repository {
  temporary_folder folder;
  fs::path model = folder / "m";

  explicit repository(const std::vector<int64_t>& dims, const std::string& config = "") {
    write_relu(model / "1/model.onnx", dims);
    if (!config.empty()) folder.write("m/config.pbtxt", config);
  }

  triton_model read(const std::vector<input_shape>& shapes = {}) const {
    std::set<std::string> used;
    return read_triton_model(model, "m", 1000, shapes, used);
  }
  /// Its places are relative to the repository.
  std::string error(const std::vector<input_shape>& shapes = {}) const {
    try {
      read(shapes);
      return "none";
    } catch (const std::exception& e) {
      std::string text = e.what(), whole = folder.path.string() + "/";
      for (size_t at = 0; (at = text.find(whole)) != std::string::npos;) text.erase(at, whole.size());
      return text;
    }
  }
};

}  // namespace

TEST_CASE("triton model: without a configuration the graph decides, and the highest version is served") {
  const repository r({-1, 4});
  for (const auto* version : {"2", "10", "010", "next", "3x"})
    write_relu(r.model / version / "model.onnx", {-1, 5});
  const auto m = r.read();
  CHECK(m.model.file == r.model / "10/model.onnx");
  CHECK(m.model.batched == true);
  CHECK_FALSE(m.model.max_batch);
  CHECK(m.notes.empty());
}

TEST_CASE("triton model: max_batch_size, dims that the graph leaves open, and the timeout are the model's") {
  const repository r({-1, -1, 4}, R"(max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: [ 3, -1 ] }
output { name: "y" data_type: TYPE_FP32 dims: [ 3, 4 ] }
dynamic_batching { max_queue_delay_microseconds: 9 default_queue_policy { default_timeout_microseconds: 50000 } })");
  const auto m = r.read();
  CHECK(m.model.max_batch == 8);
  CHECK(m.model.shapes == std::vector<input_shape>{{"x", {3, 4}}});
  CHECK(m.model.slo_ms == 50);
  REQUIRE(m.notes.size() == 1);
  CHECK(
      m.notes[0].find("/m/config.pbtxt:4:20: dynamic_batching.max_queue_delay_microseconds has no effect") !=
      std::string::npos);
  CHECK(to_toml(m.model).ends_with("slo_ms = 50\nmax_batch = 8\nshapes = { \"x\" = [3, 4] }\n"));
}

TEST_CASE("triton model: what the configuration and the graph disagree about is named with both") {
  CHECK(repository({-1, 4}, "max_batch_size: 8 input { name: \"x\" data_type: TYPE_INT32 dims: [ 5 ] }")
            .error() ==
        "m/config.pbtxt:1:27: input: 'x' is INT32 here and FP32 in m/1/model.onnx\n"
        "m/config.pbtxt:1:27: input: 'x' has the shape [-1,5] here, with the dimension for batches, and "
        "[-1,4] in "
        "m/1/model.onnx");
  CHECK(repository({-1, 4}, "max_batch_size: 8\ninput { name: \"z\" dims: [ 4 ] }").error() ==
        "m/config.pbtxt:2:9: input: 'z' is no input of m/1/model.onnx, which has x\n"
        "m/config.pbtxt: input: 'x' of m/1/model.onnx is missing");
  CHECK(repository({1, 4}, "max_batch_size: 8\ninput { name: \"x\" dims: [ 4 ] }").error() ==
        "m/config.pbtxt:2:9: input: 'x' has the shape [-1,4] here, with the dimension for batches, and [1,4] "
        "in "
        "m/1/model.onnx; with max_batch_size: 0 dims are the whole shape");
  CHECK(repository({-1, 4}, "max_batch_size: 8\noutput { name: \"y\" dims: [ 5 ] }").error() ==
        "m/config.pbtxt:2:10: output: 'y' has the shape [5] here and [4] in m/1/model.onnx");
  CHECK(repository({-1, 4}, "max_batch_size: 8\noutput { name: \"z\" }").error().find("which has y") !=
        std::string::npos);
  CHECK(repository({-1, 4}, "name: \"n\"").error() ==
        "m/config.pbtxt:1:1: name: is 'n', and the model's folder 'm'; rename one");
}

#ifdef TROUPE_OPENVINO
TEST_CASE(
    "triton model: with a dimension that stays free, requests of equal shapes run together, unless --shape "
    "gives it") {
  const repository r({-1, -1},
                     "max_batch_size: 8\ninput { name: \"x\" dims: [ -1 ] }\n"
                     "output { name: \"y\" dims: [ -1 ] }");
  const auto any = r.read();
  CHECK(any.model.any_shape);
  REQUIRE(any.notes.size() == 1);
  CHECK(any.notes[0].ends_with(
      "m/config.pbtxt:2:9: input: 'x' has the free dimensions [-1]: requests of equal shapes run together; "
      "dims without -1, or --shape x=..., make batches of one shape"));
  CHECK(to_toml(any.model).ends_with("any_shape = true\nmax_batch = 8\n"));
  CHECK_FALSE(r.read({{"x", {7}}}).model.any_shape);
  CHECK(r.read({{"x", {7}}}).model.shapes == std::vector<input_shape>{{"x", {7}}});
  CHECK(r.error({{"x", {1, 7}}}) ==
        "--shape x=1x7: m/1/model.onnx is served in batches; give the shape of a row, without the first "
        "dimension");
  CHECK(repository({-1, 4}, "input { name: \"x\" dims: [ -1, 4 ] }").read().model.any_shape);
  CHECK(repository({-1, -1, 4},
                   "max_batch_size: 8 input { name: \"x\" dims: [ -1, 4 ] } "
                   "output { name: \"y\" dims: [ 5 ] }")
            .error()
            .ends_with("output: 'y' has the shape [5] here and [-1,4] in m/1/model.onnx"));
}
#endif

TEST_CASE("triton model: without max_batch_size, dims say whether there is a dimension for batches") {
  const auto rows = repository({-1, 4}, "input { name: \"x\" dims: [ 4 ] }").read();
  CHECK(rows.model.batched == true);
  CHECK_FALSE(rows.model.max_batch);
  CHECK(repository({-1, 4}, "max_batch_size: 0 input { name: \"x\" dims: [ 4 ] }").error() ==
        "m/config.pbtxt:1:27: input: 'x' has the shape [4] here and [-1,4] in m/1/model.onnx");
}

TEST_CASE("triton model: one version is served, and it must be there") {
  const repository r({-1, 4});
  write_relu(r.model / "2/model.onnx", {-1, 5});
  const auto with = [&](const std::string& policy) {
    r.folder.write("m/config.pbtxt", "version_policy { " + policy + " }");
    return r.error();
  };
  CHECK(with("latest { num_versions: 1 }") == "none");
  CHECK(with("specific { versions: [ 1 ] }") == "none");
  CHECK(r.read().model.file == r.model / "1/model.onnx");
  CHECK(with("all { }") ==
        "m/config.pbtxt:1:1: version_policy: 2 versions are not supported: a model is served in one; give "
        "latest { "
        "num_versions: 1 } or one specific version");
  CHECK(with("specific { versions: [ 7 ] }") == "m/config.pbtxt:1:1: version_policy: m has no version 7");
  fs::remove_all(r.model / "2");
  CHECK(with("all { }") == "none");
  fs::remove_all(r.model / "1");
  CHECK(with("latest { }") == "m: has no version; put the model into m/1/model.onnx");
  fs::create_directory(r.model / "1");
  CHECK(with("latest { }") == "m/1/model.onnx: cannot be read: No such file or directory");
}
