// Products of rows with weights, by cuBLASLt.
//
// Which algorithm it takes depends on the number of rows: a row's last bits may differ between batches, which
// on a CPU they never do.
#pragma once
#include <cublasLt.h>

#include <array>
#include <map>
#include <stdexcept>
#include <string>

#include "gpu/cuda/device_memory.hpp"
#include "gpu/cuda/gemm_args.hpp"

namespace troupe::cuda {

class blas_error : public std::runtime_error {
 public:
  blas_error(cublasStatus_t code, const std::string& what)
      : std::runtime_error(what + ": " + cublasLtGetStatusString(code)) {}
};

/// One stream at a time uses it. Throws blas_error.
class gemm {
 public:
  gemm();
  ~gemm();
  gemm(const gemm&) = delete;
  gemm& operator=(const gemm&) = delete;

  /// Nothing is allocated, and a stream that is captured gets one kernel, or two.
  void run(const gemm_args& args, cudaStream_t stream);

 private:
  struct plan;
  using key = std::array<uint64_t, 12>;
  static key key_of(const gemm_args& args);
  const plan& plan_of(const gemm_args& args);

  static constexpr size_t workspace_bytes = size_t{32} << 20;  // cuBLAS's own advice for Hopper
  cublasLtHandle_t handle_ = nullptr;
  device_memory workspace_;
  std::map<key, plan> plans_;
};

}  // namespace troupe::cuda
