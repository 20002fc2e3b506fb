// Small graphs for tests: one operator, run on random tensors like a served model.
#pragma once
#include <random>
#include <string>
#include <vector>

#include "gpu/onnx/graph.hpp"

namespace troupe::onnx {

tensor floats(const shape& dims, const std::vector<float>& values);
tensor ints(const shape& dims, const std::vector<int64_t>& values);
tensor random_floats(std::mt19937& random, const shape& dims, float low = -1, float high = 1);
std::vector<float> values(const tensor& t);
std::vector<int64_t> int_values(const tensor& t);

using attributes = std::map<std::string, attribute, std::less<>>;

/// A node "t" that reads "x0", "x1", ... and gives "y".
node make_node(const std::string& op, size_t inputs, attributes a = {});

/// The output when all inputs are constants (folding).
tensor fold(const std::string& op, const std::vector<tensor>& inputs, const attributes& a = {},
            int64_t opset = 17);

/// The output when the first `dynamic` inputs are activations and the others constants: through model,
/// layers, plan and executor. The first input's leading dimension is the batch.
tensor run(const std::string& op, const std::vector<tensor>& inputs, const attributes& a = {},
           size_t dynamic = 1, int64_t opset = 17);

/// A graph of these nodes with one fp32 input "x" of shape [batch, dims...].
graph make_graph(const shape& dims, std::vector<node> nodes, const std::vector<std::string>& outputs,
                 std::map<std::string, tensor, std::less<>> constants = {});

/// Largest |a - b|, relative to 1 + |b|; infinite if sizes differ.
double difference(const std::vector<float>& a, const std::vector<float>& b);

/// Every index of a shape in row-major order.
std::vector<shape> indices_of(const shape& dims);
/// Row-major offset of an index.
size_t offset_of(const shape& dims, const shape& index);

}  // namespace troupe::onnx
