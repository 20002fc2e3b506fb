// A request to a model in this process: a batch, a whole request, or one whose tensors have free dimensions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gpu/device/batch_model.hpp"

namespace troupe {

/// The inputs with their whole shapes. `rows`: the batch, or the free first dimension of inputs.
std::vector<tensor_spec> request_inputs(const model_signature& s, int64_t rows);

/// Whether the number of rows differs from request to request.
bool has_rows(const model_signature& s);

/// Bytes of the inputs of a request. Requires: no other dimension than the first is free.
uint64_t request_bytes(const model_signature& s, int64_t rows);

/// The number of rows of a request that has so many bytes; none: no number of rows has them.
std::optional<uint32_t> request_rows(const model_signature& s, uint64_t bytes);

class local_request {
 public:
  /// Requires: `values` has `request_bytes`, and outlives this, as the model does.
  local_request(batch_model& model, uint32_t rows, std::span<const std::byte> values);

  void run();  ///< throws as the model does

  // Of the latest run:
  std::vector<tensor_spec> outputs() const;  ///< with their whole shapes
  std::span<const std::byte> values() const;

 private:
  batch_model& model_;
  uint32_t rows_;
  bool shaped_;  // tensors travel with their shapes
  std::vector<std::byte> shaped_input_, output_;
  std::span<const std::byte> input_;
};

}  // namespace troupe
