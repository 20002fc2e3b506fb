#include "gpu/onnx/loader.hpp"

#include <doctest/doctest.h>

#include <random>

#include "gpu/onnx/executor.hpp"
#include "onnx.pb.h"
#include "tests/gpu/onnx/fixtures.hpp"
#include "tests/gpu/onnx/graphs.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::onnx;
namespace proto = ::onnx;

namespace {

/// y = x + w, as in a model file.
proto::ModelProto small_model() {
  proto::ModelProto m;
  m.set_ir_version(8);
  m.add_opset_import()->set_version(17);
  auto& g = *m.mutable_graph();
  auto& x = *g.add_input();
  x.set_name("x");
  auto& type = *x.mutable_type()->mutable_tensor_type();
  type.set_elem_type(proto::TensorProto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_param("batch");
  type.mutable_shape()->add_dim()->set_dim_value(2);
  auto& w = *g.add_initializer();
  w.set_name("w");
  w.set_data_type(proto::TensorProto::FLOAT);
  w.add_dims(2);
  w.add_float_data(3);
  w.add_float_data(4);
  auto& n = *g.add_node();
  n.set_name("add");
  n.set_op_type("Add");
  n.add_input("x");
  n.add_input("w");
  n.add_output("y");
  g.add_output()->set_name("y");
  return m;
}

graph parse(const proto::ModelProto& m) {
  const auto text = m.SerializeAsString();
  return parse_graph(std::as_bytes(std::span{text}), "f.onnx");
}

std::string error_of(const proto::ModelProto& m) {
  try {
    parse(m);
    return "no error";
  } catch (const model_error& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("a graph is read with its inputs, nodes, constants and outputs") {
  const auto g = parse(small_model());
  CHECK(g.opset == 17);
  REQUIRE(g.inputs.size() == 1);
  CHECK(g.inputs[0].dims == shape{-1, 2});
  REQUIRE(g.nodes.size() == 1);
  CHECK(g.nodes[0].inputs == std::vector<std::string>{"x", "w"});
  CHECK(values(g.constants.at("w")) == std::vector<float>{3, 4});
  CHECK(g.outputs == std::vector<std::string>{"y"});
}

TEST_CASE("initializers are read from every typed field") {
  auto m = small_model();
  const auto add = [&](const char* name, int type) -> proto::TensorProto& {
    auto& t = *m.mutable_graph()->add_initializer();
    t.set_name(name);
    t.set_data_type(type);
    t.add_dims(1);
    return t;
  };
  add("f64", proto::TensorProto::DOUBLE).add_double_data(1.5);
  add("i64", proto::TensorProto::INT64).add_int64_data(-5);
  add("i32", proto::TensorProto::INT32).add_int32_data(-6);
  add("i8", proto::TensorProto::INT8).add_int32_data(-7);
  add("u8", proto::TensorProto::UINT8).add_int32_data(200);
  add("i16", proto::TensorProto::INT16).add_int32_data(-8);
  add("b", proto::TensorProto::BOOL).add_int32_data(1);
  add("u32", proto::TensorProto::UINT32).add_uint64_data(9);
  add("u64", proto::TensorProto::UINT64).add_uint64_data(10);
  add("raw", proto::TensorProto::INT32).set_raw_data(std::string("\x2a\0\0\0", 4));
  const auto g = parse(m);
  const auto at = [&](const char* name) { return g.constants.at(name); };
  CHECK(at("f64").as<double>()[0] == 1.5);
  CHECK(at("i64").as<int64_t>()[0] == -5);
  CHECK(at("i32").as<int32_t>()[0] == -6);
  CHECK(at("i8").as<int8_t>()[0] == -7);
  CHECK(at("u8").as<uint8_t>()[0] == 200);
  CHECK(at("i16").as<int16_t>()[0] == -8);
  CHECK(at("b").as<bool>()[0]);
  CHECK(at("u32").as<uint32_t>()[0] == 9);
  CHECK(at("u64").as<uint64_t>()[0] == 10);
  CHECK(at("raw").as<int32_t>()[0] == 42);
}

TEST_CASE("an input that is also an initializer is a constant, as older exporters write it") {
  auto m = small_model();
  auto& i = *m.mutable_graph()->add_input();
  i.set_name("w");
  CHECK(parse(m).inputs.size() == 1);
}

TEST_CASE("an invalid graph is refused with a message that names the place") {
  auto m = small_model();
  m.mutable_opset_import(0)->set_version(18);
  CHECK(error_of(m) == "f.onnx: opset 18 is not supported: export the model with opset 11 to 17");

  m = small_model();
  m.mutable_graph()->mutable_initializer(0)->add_float_data(5);
  CHECK(error_of(m) == "f.onnx: initializer 'w' holds 12 bytes where its shape [2] needs 8");

  m = small_model();
  m.mutable_graph()->mutable_initializer(0)->set_data_type(proto::TensorProto::STRING);
  CHECK(error_of(m) == "f.onnx: initializer 'w' has element type 8, which is not supported");

  m = small_model();
  m.mutable_graph()->mutable_node(0)->set_domain("com.acme");
  CHECK(error_of(m) ==
        "f.onnx: node 'add' (Add) is of the operator set 'com.acme': only the standard set is supported");

  m = small_model();
  m.mutable_graph()->clear_node();
  m.mutable_graph()->mutable_output(0)->set_name("x");
  CHECK(error_of(m) == "f.onnx: the graph has no node");
}

TEST_CASE("a missing file, or one that is not a model, is refused by name") {
  CHECK_THROWS_WITH_AS(load_graph("/nowhere/m.onnx"), "/nowhere/m.onnx: No such file or directory",
                       model_error);
  CHECK_THROWS_AS(load_graph(fixture_path("mlp", ".in.bin")), model_error);
  CHECK_THROWS_AS(load_graph(TROUPE_FIXTURES), model_error);
  CHECK_THROWS_WITH_AS(parse_graph({}, "empty.onnx"), "empty.onnx: the file holds no graph", model_error);
}

TEST_CASE("a file that is too large for protobuf is refused unread, and any other at its first wrong byte") {
  const temporary_folder folder;
  const auto file = folder.write("m.onnx", "");
  std::filesystem::resize_file(file, uint64_t{1} << 40);
  CHECK_THROWS_WITH_AS(
      load_graph(file),
      (file.string() + ": has 1099511627776 bytes; an ONNX file has at most 2147483647 (2 GiB, "
                       "protobuf's limit)")
          .c_str(),
      model_error);
  std::filesystem::resize_file(file, INT32_MAX);
  CHECK_THROWS_WITH_AS(load_graph(file),
                       (file.string() + ": not an ONNX model (damaged or truncated)").c_str(), model_error);
}

TEST_CASE("damaged files give a message or a model, never a crash") {
  const auto sound = read_bytes(fixture_path("mlp"));
  std::mt19937 random(71);
  // Most of the file is weights; damage near its ends hits the structure.
  const auto anywhere = [&] {
    const size_t n = sound.size(), edge = 2000;
    const size_t at = random() % (random() % 4 ? edge : n);
    return random() % 2 ? at % n : n - 1 - at % n;
  };
  int refused = 0, accepted = 0;
  for (int i = 0; i < 500; ++i) {
    auto bytes = sound;
    if (i % 5 == 0) bytes.resize(anywhere());
    for (int flips = 1 + i % 4; flips-- > 0 && !bytes.empty();) {
      bytes[anywhere() % bytes.size()] ^= static_cast<std::byte>(1 << random() % 8);
    }
    try {
      const auto m = std::make_shared<const model>(parse_graph(bytes, "damaged.onnx"));
      executor e(m, load_weights(*m));
      e.warm(2);
      ++accepted;
    } catch (const model_error&) {
      ++refused;
    }
  }
  CHECK(refused > 100);
  CHECK(accepted > 10);
}
