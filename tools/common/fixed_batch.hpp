// A model that runs batches as one that runs whole requests: each is a batch of the same number of rows.
#pragma once
#include <memory>

#include "gpu/device/batch_model.hpp"

namespace troupe {

class fixed_batch final : public batch_model {
 public:
  /// Requires: the model is batched, and `rows` is at least 1.
  fixed_batch(std::unique_ptr<batch_model> model, uint32_t rows);

  const model_signature& signature() const override { return signature_; }
  uint64_t memory_bytes() const override { return model_->memory_bytes(); }
  uint32_t layers() const override { return model_->layers(); }
  void warm(uint32_t) override { model_->warm(rows_); }
  /// Requires: one part of one row.
  bool run(uint32_t rows, std::span<const batch_part> parts, const std::atomic<bool>* stop) override;

 private:
  std::unique_ptr<batch_model> model_;
  uint32_t rows_;
  model_signature signature_;
};

}  // namespace troupe
