// Finds the Gaussian error linear unit (GELU), which exporters write as five nodes: Mul(Mul(x, Add(Erf(Div(x,
// √2)), 1)), ½).
#pragma once
#include <map>
#include <string>
#include <vector>

#include "gpu/onnx/graph.hpp"

namespace troupe::onnx {

/// The five nodes in order, if they are the only readers of the value `x` of `rank` dimensions and keep its
/// shape; otherwise empty. `readers`: the nodes that read each value; null for an output of the graph.
std::vector<const node*> find_gelu(
    const graph& g, const std::map<std::string, std::vector<const node*>, std::less<>>& readers,
    const std::string& x, size_t rank);

}  // namespace troupe::onnx
