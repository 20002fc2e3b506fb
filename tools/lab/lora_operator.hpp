// Three implementations of the LoRA operator y += (x A) B over rows with different adapters, as compared in
// Punica's Figure 8.
#pragma once
#include <cstdint>
#include <vector>

#include "gpu/kernels/sgmv.hpp"
#include "tools/lab/latency_setup.hpp"

namespace troupe::lab {

/// Owns a batch, and more random adapters in bf16 than caches hold.
class lora_operator {
 public:
  enum class method : uint8_t { sgmv, loop, gather_bmm };

  /// At least `pool_bytes` of adapters, and those of one batch.
  explicit lora_operator(const latency_setup& s, size_t pool_bytes = size_t{256} << 20);

  /// Runs once, with the next adapters of the pool.
  void run(method how);
  /// The next run uses the same adapters as the last.
  void again() { next_ = last_; }
  const std::vector<float>& y() const { return y_; }
  void clear() { y_.assign(y_.size(), 0); }

 private:
  kernels::lora_args args(uint32_t first_row);
  void gather();

  const latency_setup setup_;
  const std::vector<uint32_t> rows_;  // by adapter
  std::vector<uint16_t> pool_;        // [adapters, 2, rank, width]
  std::vector<kernels::lora_weights> adapters_;
  std::vector<uint32_t> ends_, one_row_ends_;
  std::vector<const kernels::lora_weights*> chosen_, gathered_;
  std::vector<uint16_t> copies_;  // [rows, 2, rank, width]
  std::vector<kernels::lora_weights> of_copies_;
  std::vector<float> x_, v_, y_;
  size_t next_ = 0, last_ = 0;
};

}  // namespace troupe::lab
