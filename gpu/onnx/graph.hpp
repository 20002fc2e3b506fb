// An ONNX graph as plain structs: the loader's result.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "gpu/onnx/tensor.hpp"

namespace troupe::onnx {

using attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, tensor>;

struct node {
  std::string name;  ///< may be empty
  std::string op;
  std::vector<std::string> inputs;  ///< "" = an optional input that is not given
  std::vector<std::string> outputs;
  std::map<std::string, attribute, std::less<>> attributes;
};

/// A dimension of -1 is dynamic.
struct graph_input {
  std::string name;
  data_type type = data_type::fp32;
  shape dims;
};

struct graph {
  std::string file;  ///< for messages
  int64_t opset = 0;
  std::vector<graph_input> inputs;  ///< without those that have an initialiser
  std::vector<std::string> outputs;
  std::vector<node> nodes;                               ///< every node after those whose outputs it reads
  std::map<std::string, tensor, std::less<>> constants;  ///< initialisers and the values of Constant nodes
};

/// "node '/conv1' (Conv)", or by its first output if it has no name.
std::string describe(const node& n);

}  // namespace troupe::onnx
