// Products of rows with weights, through cuBLASLt.
//
// The algorithm depends on the number of rows. So a row's last bits may differ between batches, unlike on a
// CPU.
#pragma once
#include <cublasLt.h>

#include <array>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "gpu/kernels/cuda/gemm_args.hpp"
#include "gpu/kernels/cuda/pooled_handle.hpp"
#include "gpu/kernels/cuda/workspace.hpp"

namespace troupe::cuda {

class blas_error : public std::runtime_error {
 public:
  blas_error(cublasStatus_t code, const std::string& what)
      : std::runtime_error(what + ": " + cublasLtGetStatusString(code)) {}
};

/// Used by one stream at a time. Throws blas_error or cuda_error.
class gemm {
 public:
  explicit gemm(std::shared_ptr<workspace> room = std::make_shared<workspace>());
  ~gemm();
  gemm(const gemm&) = delete;
  gemm& operator=(const gemm&) = delete;

  /// Uses this workspace from now on; captured graphs keep the old one.
  void use(std::shared_ptr<workspace> room);
  /// Enqueues the product. Allocates nothing; a captured stream gets one or two kernels.
  void run(const gemm_args& args, cudaStream_t stream);

 private:
  struct plan;
  using key = std::array<uint64_t, 13>;
  static key key_of(const gemm_args& args);
  const plan& plan_of(const gemm_args& args);

  pooled_handle<cublasLtHandle_t> handle_;
  std::shared_ptr<workspace> room_;
  std::map<key, plan> plans_;
};

}  // namespace troupe::cuda
