#include "gpu/onnx/structure.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/node_names.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;
namespace proto = ::onnx;

namespace {

proto::NodeProto& add_node(proto::GraphProto& g, const std::string& name, const std::string& op,
                           const std::vector<std::string>& inputs, const std::string& output) {
  auto& n = *g.add_node();
  n.set_name(name);
  n.set_op_type(op);
  for (const auto& i : inputs) n.add_input(i);
  n.add_output(output);
  return n;
}

proto::TensorProto& add_weight(proto::GraphProto& g, const std::string& name, int64_t elements) {
  auto& t = *g.add_initializer();
  t.set_name(name);
  t.set_data_type(proto::TensorProto::FLOAT);
  t.add_dims(elements);
  for (int64_t i = 0; i < elements; ++i) t.add_float_data(1);
  return t;
}

/// y = x + w, by the node 'plus'.
proto::ModelProto sum() {
  proto::ModelProto m;
  auto& g = *m.mutable_graph();
  g.add_input()->set_name("x");
  add_weight(g, "w", 2);
  add_node(g, "plus", "Add", {"x", "w"}, "y");
  g.add_output()->set_name("y");
  return m;
}

/// "": the structure is sound.
std::string problem_of(const proto::ModelProto& m, const std::string& file = "f.onnx") {
  try {
    troupe::onnx::check_structure(m, file);
    return "";
  } catch (const unreadable_model& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("structure: names are defined once, and before a node reads them") {
  CHECK(problem_of(sum()) == "");
  CHECK(problem_of({}) == "f.onnx: the file holds no graph");

  auto m = sum();
  m.mutable_graph()->mutable_node(0)->set_input(1, "y");
  CHECK(problem_of(m) == "f.onnx: node 'plus' (Add) reads 'y', which no node before it computes");

  m = sum();
  add_node(*m.mutable_graph(), "", "Relu", {"x"}, "y");
  CHECK(problem_of(m) == "f.onnx: node 'y' (Relu) output 'y': the name is defined twice");

  m = sum();
  add_weight(*m.mutable_graph(), "w", 1);
  CHECK(problem_of(m) == "f.onnx: initializer 'w': the name is defined twice");

  m = sum();
  m.mutable_graph()->add_input()->set_name("x");
  CHECK(problem_of(m) == "f.onnx: input 'x': the name is defined twice");

  m = sum();
  m.mutable_graph()->mutable_output(0)->set_name("z");
  CHECK(problem_of(m) == "f.onnx: output 'z' is computed by no node");
}

TEST_CASE("structure: optional inputs and outputs have no name, and initializers may be inputs") {
  auto m = sum();
  auto& g = *m.mutable_graph();
  g.mutable_node(0)->add_input("");
  g.mutable_node(0)->add_output("");
  g.mutable_node(0)->add_output("");
  g.add_input()->set_name("w");
  CHECK(problem_of(m) == "");
}

TEST_CASE("structure: graphs within nodes read names around them, and may use them again") {
  auto m = sum();
  auto& choice = add_node(*m.mutable_graph(), "choice", "If", {"x"}, "z");
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto& a = *choice.add_attribute();
    a.set_name(branch);
    add_node(*a.mutable_g(), "inner", "Relu", {"y"}, "out");
    a.mutable_g()->add_output()->set_name("out");
  }
  CHECK(problem_of(m) == "");
  auto& second = *m.mutable_graph()->mutable_node(1)->mutable_attribute(1)->mutable_g();
  second.mutable_node(0)->set_input(0, "z");
  CHECK(problem_of(m) == "f.onnx: node 'inner' (Relu) reads 'z', which no node before it computes");
  second.mutable_node(0)->set_input(0, "x");
  second.mutable_node(0)->set_output(0, "x");
  second.mutable_output(0)->set_name("x");
  CHECK(problem_of(m) == "");
}

TEST_CASE("structure: tensors have the bytes of their shapes") {
  const auto with = [](auto change) {
    auto m = sum();
    change(*m.mutable_graph()->mutable_initializer(0));
    return problem_of(m);
  };
  CHECK(with([](auto& w) { w.clear_float_data(); }) ==
        "f.onnx: initializer 'w' holds 0 bytes where its shape [2] needs 8");
  CHECK(with([](auto& w) { w.set_raw_data("abc"); }) ==
        "f.onnx: initializer 'w' holds 3 bytes where its shape [2] needs 8");
  CHECK(with([](auto& w) { w.set_data_type(proto::TensorProto::INT8); }) ==
        "f.onnx: initializer 'w' holds 0 bytes where its shape [2] needs 2");
  CHECK(with([](auto& w) { w.set_dims(0, -2); }) == "f.onnx: initializer 'w' has the impossible shape [-2]");
  CHECK(with([](auto& w) { w.set_dims(0, int64_t{1} << 62); }) ==
        "f.onnx: initializer 'w' has the impossible shape [4611686018427387904]");

  for (const auto& [type, size] : {std::pair{proto::TensorProto::DOUBLE, 8},
                                   {proto::TensorProto::INT64, 8},
                                   {proto::TensorProto::UINT64, 8},
                                   {proto::TensorProto::FLOAT, 4},
                                   {proto::TensorProto::INT32, 4},
                                   {proto::TensorProto::UINT32, 4},
                                   {proto::TensorProto::FLOAT16, 2},
                                   {proto::TensorProto::BFLOAT16, 2},
                                   {proto::TensorProto::INT16, 2},
                                   {proto::TensorProto::INT8, 1},
                                   {proto::TensorProto::BOOL, 1}}) {
    CHECK(with([&](auto& w) {
            w.set_data_type(type);
            w.set_raw_data(std::string(static_cast<size_t>(2 * size), 'x'));
          }) == "");
  }

  auto m = sum();
  auto& constant = add_node(*m.mutable_graph(), "fixed", "Constant", {}, "c");
  constant.add_attribute()->mutable_t()->set_data_type(proto::TensorProto::FLOAT);
  CHECK(problem_of(m) == "f.onnx: node 'fixed' (Constant) holds 0 bytes where its shape [] needs 4");
}

TEST_CASE("structure: external data is a file in the folder of the model") {
  const temporary_folder folder;
  folder.write("weights.bin", "12345678");
  const auto with = [&](const std::string& location) {
    auto m = sum();
    auto& w = *m.mutable_graph()->mutable_initializer(0);
    w.clear_float_data();
    w.set_data_location(proto::TensorProto::EXTERNAL);
    auto& entry = *w.add_external_data();
    entry.set_key("location");
    entry.set_value(location);
    return problem_of(m, (folder.path / "m.onnx").string());
  };
  const auto here = folder.path.string();
  CHECK(with("weights.bin") == "");
  CHECK(with("./weights.bin") == "");
  CHECK(with("nowhere.bin") == here + "/m.onnx: initializer 'w' keeps its data in " + here +
                                   "/nowhere.bin, which is no file: put it beside the model");
  for (const std::string outside : {"/dev/zero", "../weights.bin", "a/../../weights.bin", ""})
    CHECK(with(outside) == here + "/m.onnx: initializer 'w' keeps its data in '" + outside +
                               "', outside of the folder of the model");
}

TEST_CASE("node names: a message names nodes as the file does") {
  const temporary_folder folder;
  auto m = sum();
  add_node(*m.mutable_graph(), "", "Relu", {"y"}, "z");
  const auto file = folder.write("m.onnx", m.SerializeAsString());
  using troupe::onnx::with_node_names;
  CHECK(with_node_names("f: node 'y' (Broadcast) fails: node 'z' (Max), node 'plus' (Sum); node 'other' (X)",
                        file) ==
        "f: node 'plus' (Add) fails: node 'z' (Relu), node 'plus' (Add); node 'other' (X)");
  CHECK(with_node_names("node 'y", file) == "node 'y");
  CHECK(with_node_names("node 'y' (", file) == "node 'y' (");
  CHECK(with_node_names("node 'y' (A)", folder.path / "none") == "node 'y' (A)");
}
