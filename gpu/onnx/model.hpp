// An ONNX model ready for planning: its graph checked, constant-folded and cut into layers. Immutable once
// shared with other threads.
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
  /// Checks that every operator is supported, folds constants, removes unused nodes, fuses (without fusion
  /// results are the same up to rounding), cuts layers, and tries a plan. Throws `model_error` for an
  /// unsupported operator, shape or attribute; an input without a dynamic leading (batch) dimension; an
  /// output that does not keep this dimension at the one batch size tried, or is empty.
  explicit model(graph g, fusion f = fusion::on);
  model(const model&) = delete;
  model& operator=(const model&) = delete;

  static std::shared_ptr<const model> load(const std::filesystem::path& file);

  const model_signature& signature() const { return signature_; }
  const std::vector<layer>& layers() const { return layers_; }
  const blob& parameters(size_t layer) const { return blobs_.at(layer); }
  uint64_t parameter_bytes() const;
  /// Takes the memory of the layers that are equal in `other`, and frees its own.
  void share_parameters(const model& other);

  /// Throws model_error unless output i of a plan for `rows` rows is as the signature promises. Each plan
  /// must check this: outputs are split by rows, shapes are inferred anew for every batch size, and the
  /// leading dimension of an output may equal the batch size at some sizes only (for example, a slice of the
  /// first three rows).
  void check_output(size_t i, data_type type, const shape& dims, int64_t rows) const;

  fusion fused() const { return fusion_; }

  const graph& program() const { return graph_; }  ///< without its parameters
  /// The nodes that read each value; null for an output of the graph.
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
