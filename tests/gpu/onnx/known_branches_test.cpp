#include "gpu/onnx/known_branches.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace proto = ::onnx;
using troupe::onnx::take_known_branches;

namespace {

proto::NodeProto proto_node(const char* op, const std::vector<std::string>& inputs,
                            const std::string& output) {
  proto::NodeProto n;
  n.set_op_type(op);
  for (const auto& i : inputs) n.add_input(i);
  n.add_output(output);
  return n;
}

void set_branch(proto::NodeProto& n, const char* which, const proto::GraphProto& branch) {
  auto& a = *n.add_attribute();
  a.set_name(which);
  a.set_type(proto::AttributeProto::GRAPH);
  *a.mutable_g() = branch;
}

/// One node, from x to `output`.
proto::GraphProto one_node_branch(const char* op, const std::string& output) {
  proto::GraphProto g;
  *g.add_node() = proto_node(op, {"x"}, output);
  g.add_output()->set_name(output);
  return g;
}

proto::NodeProto if_node(const std::string& condition, const proto::GraphProto& then_branch,
                         const proto::GraphProto& else_branch, const std::string& output) {
  auto n = proto_node("If", {condition}, output);
  set_branch(n, "then_branch", then_branch);
  set_branch(n, "else_branch", else_branch);
  return n;
}

void add_scalar(proto::GraphProto& g, const char* name, int64_t value) {
  auto& t = *g.add_initializer();
  t.set_name(name);
  t.set_data_type(proto::TensorProto::INT64);
  t.add_int64_data(value);
}

std::vector<std::string> op_types(const proto::GraphProto& g) {
  std::vector<std::string> out;
  for (const auto& n : g.node()) out.push_back(n.op_type());
  return out;
}

using op_list = std::vector<std::string>;

}  // namespace

TEST_CASE("known branches: a comparison of constants chooses its branch") {
  for (const int64_t rate : {16000, 8000}) {
    proto::GraphProto g;
    g.add_input()->set_name("x");
    add_scalar(g, "rate", rate);
    add_scalar(g, "wide", 16000);
    *g.add_node() = proto_node("Equal", {"rate", "wide"}, "c");
    *g.add_node() = if_node("c", one_node_branch("Relu", "t"), one_node_branch("Tanh", "e"), "y");
    take_known_branches(g);
    CHECK(op_types(g) == op_list{"Equal", rate == 16000 ? "Relu" : "Tanh", "Identity"});
    CHECK(g.node(2).output(0) == "y");
  }
}

TEST_CASE("known branches: also within the branch that was chosen, with its constants") {
  auto outer = one_node_branch("Relu", "t");
  add_scalar(outer, "one", 1);
  *outer.add_node() = if_node("one", one_node_branch("Tanh", "u"), one_node_branch("Exp", "v"), "w");
  outer.mutable_output(0)->set_name("w");
  proto::GraphProto g;
  g.add_input()->set_name("x");
  add_scalar(g, "zero", 0);
  *g.add_node() = proto_node("Not", {"zero"}, "c");
  *g.add_node() = if_node("c", outer, one_node_branch("Exp", "e"), "y");
  take_known_branches(g);
  CHECK(op_types(g) == op_list{"Not", "Relu", "Tanh", "Identity", "Identity"});
  CHECK(g.initializer_size() == 2);
}

TEST_CASE("known branches: what hangs on inputs stays, and so does a branch whose names are taken") {
  proto::GraphProto g;
  g.add_input()->set_name("x");
  g.add_input()->set_name("c");
  add_scalar(g, "one", 1);
  *g.add_node() = if_node("c", one_node_branch("Relu", "t"), one_node_branch("Tanh", "e"), "y");
  *g.add_node() = if_node("one", one_node_branch("Relu", "x"), one_node_branch("Tanh", "e2"), "z");
  take_known_branches(g);
  CHECK(op_types(g) == op_list{"If", "If"});
}
