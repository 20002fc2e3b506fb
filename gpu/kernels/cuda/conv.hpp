// Convolutions through cuDNN.
//
// The algorithm is chosen by measurement on the device. So a result's last bits may differ between processes
// and between batch sizes, but not between runs with the same plan.
#pragma once
#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <optional>

#include "gpu/kernels/cuda/conv_args.hpp"
#include "gpu/kernels/cuda/pooled_handle.hpp"
#include "gpu/kernels/cuda/workspace.hpp"

struct cudnnContext;

namespace troupe::cuda {

struct conv_algorithm;
struct conv_plan;

/// Used by one stream at a time. Uses no device memory before the first `prepare`. Throws conv_error, which
/// names the convolution, or cuda_error.
class conv {
 public:
  /// True if this build found cuDNN.
  static const bool available;

  /// Chooses only algorithms that fit into the workspace `room`.
  explicit conv(std::shared_ptr<workspace> room = std::make_shared<workspace>());
  ~conv();
  conv(const conv&) = delete;
  conv& operator=(const conv&) = delete;

  /// Uses this workspace from now on; captured graphs keep the old one. Requires: it is not smaller.
  void use(std::shared_ptr<workspace> room);
  /// Device memory without the workspace, in bytes.
  uint64_t memory_bytes() const;

  /// Chooses the algorithm for convolutions like this one by trying it, which overwrites `y`. Returns true if
  /// it fuses bias, residual and ReLU. Otherwise it prepares the convolution without them, and the caller
  /// must apply all three. Waits for the stream, which must not be captured. Cheap if the plan exists.
  /// `quick`: takes the algorithm of a plan that differs only in the batch, without a trial, if possible.
  bool prepare(const conv_args& args, cudaStream_t stream, bool quick = false);
  /// Runs a convolution. Prepares it if necessary, which fails while the stream is captured. Allocates
  /// nothing for a prepared one. Throws if bias, residual or ReLU are set that `prepare` left to the caller.
  void run(const conv_args& args, cudaStream_t stream);

 private:
  void start();
  int call(const conv_plan& p, const conv_algorithm& how, const conv_args& args) const;
  double microseconds(const conv_plan& p, const conv_algorithm& how, const conv_args& args, double best,
                      cudaStream_t stream) const;
  double choose(conv_plan& p, const conv_args& args, cudaStream_t stream) const;
  double pass_over(const conv_args& args, cudaStream_t stream) const;
  int workspace_of(const conv_plan& p, const conv_args& args, conv_algorithm& how) const;
  const conv_plan* similar(const conv_args& args) const;
  bool adopt(conv_plan& p, const conv_args& args, const conv_algorithm& how) const;
  void add_missing_bias(conv_plan& p, const conv_args& args, cudaStream_t stream) const;
  bool prepare_like(const conv_args& args, const conv_plan& like, cudaStream_t stream);
  void use(cudaStream_t stream);

  pooled_handle<cudnnContext*> handle_;
  std::optional<cudaStream_t> stream_;  ///< of the handle, if known
  std::shared_ptr<workspace> room_;
  std::map<conv_key, conv_plan> plans_;
};

}  // namespace troupe::cuda
