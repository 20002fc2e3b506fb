// A model as an ordered list of layers. A layer is the unit of loading and moving parameters.
//
// The graph is cut where exactly one activation crosses and the next node heads a layer (operators.hpp). So a
// layer is a contiguous range of nodes with one activation in and one out. Its parameters are the fp32
// constants of more than one element that its nodes read; all other constants (shapes, axes, scalars) belong
// to the graph. A parameter that several layers read is in the blob of each, so that a layer needs only its
// own blob.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gpu/onnx/graph.hpp"

namespace troupe::onnx {

struct parameter {
  std::string name;
  shape dims;
  size_t offset = 0;  ///< in its layer's blob, a multiple of 64
  bool operator==(const parameter&) const = default;
};

struct layer {
  size_t first_node = 0, end_node = 0;  ///< [first, end) of graph::nodes
  std::string activation;               ///< the layer's input value; empty for the first layer
  std::vector<parameter> parameters;
  size_t bytes = 0;   ///< of the canonical blob: the parameters as in the file, gaps zero
  uint64_t hash = 0;  ///< FNV-1a of the blob (gpu/common/fnv.hpp)
  bool operator==(const layer&) const = default;
};

using blob = std::shared_ptr<const aligned_bytes>;

struct layered_graph {
  std::vector<layer> layers;
  std::vector<blob> blobs;  ///< one a layer
};

/// The values that depend only on constants and on shapes of activations: outputs of `Shape`, and values
/// computed only from such values.
std::set<std::string, std::less<>> shape_values(const graph& g);

/// Cuts the graph and moves its parameters out of `g.constants` into the blobs.
layered_graph cut_into_layers(graph& g);

}  // namespace troupe::onnx
