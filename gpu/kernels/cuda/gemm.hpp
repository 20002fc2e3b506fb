// Products of rows with weights, by cuBLASLt.
//
// Which algorithm it takes depends on the number of rows: a row's last bits may differ between batches, which
// on a CPU they never do.
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

/// One stream at a time uses it. Throws blas_error, or cuda_error.
class gemm {
 public:
  explicit gemm(std::shared_ptr<workspace> room = std::make_shared<workspace>());
  ~gemm();
  gemm(const gemm&) = delete;
  gemm& operator=(const gemm&) = delete;

  /// Works there from now on; what is captured does not.
  void use(std::shared_ptr<workspace> room);
  /// Nothing is allocated, and a stream that is captured gets one kernel, or two.
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
