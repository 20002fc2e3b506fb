// A model ready to be planned: its graph checked, folded and cut into layers. Immutable, shared by all
// threads.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu/onnx/fusion.hpp"
#include "gpu/onnx/graph.hpp"
#include "gpu/onnx/layers.hpp"
#include "messages/tensor/tensor.hpp"

namespace troupe::onnx {

class model {
 public:
  /// Checks that every operator is known, evaluates what is constant, drops what no output needs, fuses
  /// (without it results are the same up to rounding), cuts layers, and tries a plan. Throws `model_error`:
  /// an operator, shape or attribute that this engine cannot run, an input without a dynamic leading (batch)
  /// dimension, an output that does not keep it at the one batch size that is tried, or is empty.
  explicit model(graph g, fusion f = fusion::on);
  model(const model&) = delete;
  model& operator=(const model&) = delete;

  static std::shared_ptr<const model> load(const std::filesystem::path& file);

  const model_signature& signature() const { return signature_; }
  const std::vector<layer>& layers() const { return layers_; }
  const blob& parameters(size_t layer) const { return blobs_.at(layer); }
  uint64_t parameter_bytes() const;

  /// Throws model_error unless a plan for so many rows gives output i as the signature promises it. Shapes
  /// are inferred for every batch size anew, and an output may be as long as some batches and not as others
  /// (the first three rows of any); outputs are handed out row by row, so each plan must prove it.
  void check_output(size_t i, data_type type, const shape& dims, int64_t rows) const;

  fusion fused() const { return fusion_; }

  const graph& program() const { return graph_; }  ///< without its parameters
  /// Which nodes read a value; null for "is an output of the graph".
  const std::map<std::string, std::vector<const node*>, std::less<>>& readers() const { return readers_; }

 private:
  void check_operators() const;
  void check_inputs() const;
  void fold_constants();
  void drop_unused();
  void find_readers();
  void infer_signature();

  graph graph_;
  fusion fusion_;
  std::vector<layer> layers_;
  std::vector<blob> blobs_;
  std::map<std::string, std::vector<const node*>, std::less<>> readers_;
  model_signature signature_;
};

}  // namespace troupe::onnx
