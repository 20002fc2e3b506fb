#include "gpu/onnx/model_interface.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "gpu/common/model_error.hpp"
#include "onnx.pb.h"
#include "tests/gpu/onnx/fixtures.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;
using troupe::onnx::read_interface;

TEST_CASE("a model's interface has the declared types and shapes") {
  const auto mlp = read_interface(troupe::onnx::fixture_path("mlp"));
  REQUIRE(mlp.inputs.size() == 1);
  CHECK(mlp.inputs[0].name == "input");
  CHECK(mlp.inputs[0].type == data_type::fp32);
  CHECK(mlp.inputs[0].dims == std::vector<int64_t>{-1, 64});
  CHECK(mlp.outputs.size() == 1);
}

TEST_CASE("a model's interface leaves out initialisers, and says what a file does not") {
  const temporary_folder folder;
  ::onnx::ModelProto m;
  auto& g = *m.mutable_graph();
  g.add_input()->set_name("weights");
  g.add_initializer()->set_name("weights");
  auto& text = *g.add_input();
  text.set_name("text");
  text.mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::STRING);
  auto& odd = *g.add_input();
  odd.set_name("odd");
  auto& type = *odd.mutable_type()->mutable_tensor_type();
  type.set_elem_type(::onnx::TensorProto::COMPLEX64);
  type.mutable_shape()->add_dim()->set_dim_value(0);
  g.add_output()->set_name("y");
  const auto file = folder.write("m.onnx", m.SerializeAsString());
  const auto found = read_interface(file);
  REQUIRE(found.inputs.size() == 2);
  CHECK(found.inputs[0].type == data_type::bytes);
  CHECK_FALSE(found.inputs[0].dims);
  CHECK_FALSE(found.inputs[1].type);
  CHECK(found.inputs[1].dims == std::vector<int64_t>{-1});
  CHECK(found.outputs[0].name == "y");
  folder.write("m.onnx", "text");
  CHECK_THROWS_AS(read_interface(file), model_error);
  CHECK_THROWS_AS(read_interface(folder / "none.onnx"), model_error);
}
