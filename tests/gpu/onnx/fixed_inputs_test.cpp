#include "gpu/onnx/fixed_inputs.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <span>
#include <string_view>

#include "gpu/common/model_error.hpp"
#include "onnx.pb.h"
#include "tests/temporary_folder.hpp"

using namespace troupe;
namespace proto = ::onnx;

namespace {

void add_input(proto::GraphProto& g, const char* name, int type, const std::vector<int64_t>& dims) {
  auto& input = *g.add_input();
  input.set_name(name);
  auto& tensor = *input.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  auto& shape = *tensor.mutable_shape();
  for (const auto d : dims) {
    auto& dim = *shape.add_dim();
    if (d > 0) dim.set_dim_value(d);
  }
}

/// A file with the inputs x [batch, 2], rate (a scalar), gate [3] and text [1].
struct model_file {
  model_file() {
    proto::ModelProto m;
    auto& g = *m.mutable_graph();
    add_input(g, "x", proto::TensorProto::FLOAT, {0, 2});
    add_input(g, "rate", proto::TensorProto::INT64, {});
    add_input(g, "gate", proto::TensorProto::BOOL, {3});
    add_input(g, "text", proto::TensorProto::STRING, {1});
    std::ofstream out(path, std::ios::binary);
    m.SerializeToOstream(&out);
  }
  proto::GraphProto fixed(const std::vector<input_constant>& values,
                          const std::vector<input_shape>& shapes = {}) const {
    proto::ModelProto m;
    REQUIRE(m.ParseFromString(troupe::onnx::fix_inputs(path, values, shapes)));
    return m.graph();
  }
  std::string error(const std::vector<input_constant>& values) const {
    try {
      troupe::onnx::fix_inputs(path, values, {});
      return "none";
    } catch (const model_error& e) {
      return std::string(e.what()).substr(path.string().size() + 2);
    }
  }

  temporary_folder folder;
  std::filesystem::path path = folder.path / "m.onnx";
};

template <class T>
std::vector<T> values_of(const proto::TensorProto& t) {
  std::vector<T> out(t.raw_data().size() / sizeof(T));
  std::memcpy(out.data(), t.raw_data().data(), t.raw_data().size());
  return out;
}

}  // namespace

TEST_CASE("fixed inputs: an input becomes an initializer of its type and shape") {
  const model_file m;
  const auto g = m.fixed({{"rate", 16000}, {"gate", 1}});
  REQUIRE(g.initializer_size() == 2);
  CHECK(values_of<int64_t>(g.initializer(0)) == std::vector<int64_t>{16000});
  CHECK(g.initializer(0).dims_size() == 0);
  CHECK(g.initializer(1).name() == "gate");
  CHECK(values_of<uint8_t>(g.initializer(1)) == std::vector<uint8_t>{1, 1, 1});
  CHECK(g.initializer(1).dims(0) == 3);
  REQUIRE(g.input_size() == 2);
  CHECK(g.input(0).name() == "x");
  CHECK(g.input(1).name() == "text");
}

TEST_CASE("fixed inputs: a dynamic shape must be given") {
  const model_file m;
  const auto g = m.fixed({{"x", 0.5}}, {{"x", {2, 2}}});
  CHECK(values_of<float>(g.initializer(0)) == std::vector<float>(4, 0.5F));
  CHECK(m.error({{"x", 0.5}}) == "constant 'x': its shape is dynamic; give it");
}

TEST_CASE("fixed inputs: values and names that do not fit are refused") {
  const model_file m;
  CHECK(m.error({{"sr", 1}}) ==
        "constant 'sr': the model has no such input; its inputs are x, rate, gate, text");
  CHECK(m.error({{"rate", 0.5}}) == "constant 'rate': 0.5 is no value of its type");
  CHECK(m.error({{"rate", 9223372036854775808.0}}).ends_with("is no value of its type"));
  CHECK(m.error({{"rate", -9223372036854775808.0}}) == "none");
  CHECK(m.error({{"gate", 2}}) == "constant 'gate': 2 is no value of its type");
  CHECK(m.error({{"text", 1}}) ==
        "constant 'text': inputs of the types FP32, FP64, INT32, INT64 and BOOL can be fixed, not this one");
  CHECK_THROWS_AS(troupe::onnx::fix_inputs(m.path, {{"x", 1}}, {{"x", {1 << 20, 2}}}), model_error);
}

TEST_CASE("fixed inputs: bytes in memory are read as a file is") {
  proto::ModelProto m;
  add_input(*m.mutable_graph(), "rate", proto::TensorProto::INT64, {});
  const auto content = m.SerializeAsString();
  const auto fixed = [](std::string_view bytes) {
    return troupe::onnx::fix_inputs(std::as_bytes(std::span{bytes}), "m.onnx", {{"rate", 16000}}, {});
  };
  REQUIRE(m.ParseFromString(fixed(content)));
  CHECK(m.graph().input_size() == 0);
  CHECK(m.graph().initializer(0).name() == "rate");
  CHECK_THROWS_WITH_AS(fixed("no model"), "m.onnx: not an ONNX model (damaged or truncated)",
                       unreadable_model);
}
