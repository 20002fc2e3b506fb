// A model that OpenVINO runs on the CPU.
#pragma once
#include <memory>
#include <openvino/core/model.hpp>
#include <openvino/runtime/compiled_model.hpp>
#include <openvino/runtime/infer_request.hpp>
#include <string>
#include <vector>

#include "gpu/device/batch_model.hpp"
#include "gpu/openvino/graph.hpp"
#include "messages/tensor/shaped_tensors.hpp"

namespace troupe::vino {

/// Batches of all sizes, and requests of all shapes, run in one compiled graph. `stop` is seen before an
/// inference, not within it.
/// OpenVINO does not tell its memory, and constants of the graph are a part of it: it keeps copies of weights
/// in the layouts of its kernels, for some batch sizes each, and intermediate tensors. So `memory_bytes` is
/// the growth of the process's heap while the model was made and warmed; allocations of other threads
/// meanwhile count, too.
class model final : public batch_model {
 public:
  /// `content`: as for `read_graph`. `threads`: of an inference. Throws model_error.
  model(const model_source& source, const std::string& content, int threads);

  const model_signature& signature() const override { return signature_; }
  uint64_t memory_bytes() const override { return memory_bytes_; }
  uint32_t layers() const override { return 1; }
  void warm(uint32_t rows) override;
  bool warms_by_running() const override { return true; }
  bool run(uint32_t rows, std::span<const batch_part> parts, const std::atomic<bool>* stop) override;

 private:
  void prepare();
  /// Requests to a model with free dimensions.
  void run_shaped(std::span<const batch_part> parts);
  /// Those that are one inference: their shapes agree, except for the number of rows.
  void run_together(std::span<const batch_part> parts, std::span<const shaped_tensors> given,
                    std::span<const size_t> which);
  void check_rows(uint32_t rows);
  void check_integers(const std::vector<ov::Tensor>& inputs) const;
  /// The inputs of a batch, or of a model without batches, as tensors of OpenVINO.
  std::vector<ov::Tensor> tensors(uint32_t rows) const;
  void infer(std::vector<ov::Tensor>& inputs);

  const std::string file_;
  const bool batched_, any_shape_, bf16_;
  const int threads_;
  uint32_t checked_rows_;             // batches of up to so many are within the bounds
  std::shared_ptr<ov::Model> graph_;  // which shares its parameters with what is compiled of it
  model_signature signature_;
  uint64_t memory_bytes_ = 0;
  ov::CompiledModel compiled_;
  ov::InferRequest request_;
  bool failed_ = false;    // the last inference
  bool has_rows_ = false;  // requests of equal shapes can be one inference
};

}  // namespace troupe::vino
