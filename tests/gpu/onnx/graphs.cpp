#include "tests/gpu/onnx/graphs.hpp"

#include <cmath>

#include "gpu/onnx/executor.hpp"
#include "gpu/onnx/model.hpp"
#include "gpu/onnx/plan.hpp"

namespace troupe::onnx {

tensor floats(const shape& dims, const std::vector<float>& v) {
  return make_tensor(data_type::fp32, dims, std::as_bytes(std::span{v}));
}

tensor ints(const shape& dims, const std::vector<int64_t>& v) {
  return make_tensor(data_type::int64, dims, std::as_bytes(std::span{v}));
}

tensor random_floats(std::mt19937& random, const shape& dims, float low, float high) {
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> v(static_cast<size_t>(element_count(dims)));
  for (auto& x : v) x = uniform(random);
  return floats(dims, v);
}

std::vector<float> values(const tensor& t) {
  const auto s = t.as<float>();
  return {s.begin(), s.end()};
}

std::vector<int64_t> int_values(const tensor& t) {
  const auto s = t.as<int64_t>();
  return {s.begin(), s.end()};
}

node make_node(const std::string& op, size_t inputs, attributes a) {
  node n{"t", op, {}, {"y"}, std::move(a)};
  for (size_t i = 0; i < inputs; ++i) n.inputs.push_back("x" + std::to_string(i));
  return n;
}

tensor fold(const std::string& op, const std::vector<tensor>& inputs, const attributes& a, int64_t opset) {
  graph g;
  g.file = "test";
  g.opset = opset;
  fold_budget budget(max_folded_bytes);
  return evaluate(g, make_node(op, inputs.size(), a), inputs, budget).at(0);
}

tensor run(const std::string& op, const std::vector<tensor>& inputs, const attributes& a, size_t dynamic,
           int64_t opset) {
  graph g;
  g.file = "test";
  g.opset = opset;
  g.outputs = {"y"};
  g.nodes = {make_node(op, inputs.size(), a)};
  activation in;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& name = g.nodes[0].inputs[i];
    if (i < dynamic) {
      graph_input input{name, inputs[i].type, inputs[i].dims};
      input.dims.at(0) = -1;
      g.inputs.push_back(input);
      in.push_back(inputs[i]);
    } else {
      g.constants.emplace(name, inputs[i]);
    }
  }
  const auto m = std::make_shared<const model>(std::move(g));
  executor e(m, load_weights(*m));
  return e.run({0, m->layers().size()}, in).at(0);
}

graph make_graph(const shape& dims, std::vector<node> nodes, const std::vector<std::string>& outputs,
                 std::map<std::string, tensor, std::less<>> constants) {
  graph g;
  g.file = "test";
  g.opset = 17;
  g.inputs = {{"x", data_type::fp32, dims}};
  g.inputs[0].dims.insert(g.inputs[0].dims.begin(), -1);
  g.nodes = std::move(nodes);
  g.outputs = outputs;
  g.constants = std::move(constants);
  return g;
}

double difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(double{a[i]} - double{b[i]}) / (1 + std::abs(double{b[i]}));
    if (!(d <= worst)) worst = d;
  }
  return worst;
}

std::vector<shape> indices_of(const shape& dims) {
  std::vector<shape> all;
  shape index(dims.size(), 0);
  for (int64_t i = 0; i < element_count(dims); ++i) {
    all.push_back(index);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
  return all;
}

size_t offset_of(const shape& dims, const shape& index) {
  int64_t at = 0;
  for (size_t d = 0; d < dims.size(); ++d) at = at * dims[d] + index[d];
  return static_cast<size_t>(at);
}

}  // namespace troupe::onnx
