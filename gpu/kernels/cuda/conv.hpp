// Convolutions by cuDNN.
//
// Which algorithm it takes is measured on the device: a result's last bits may differ between two processes,
// and between batches of different size, but not between two runs with the same plan.
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

/// One stream at a time uses it. Before the first `prepare` it holds nothing of the device. Throws
/// conv_error, which names the convolution, or cuda_error.
class conv {
 public:
  /// Whether this build found cuDNN.
  static const bool available;

  /// Algorithms are chosen that `room` is enough for.
  explicit conv(std::shared_ptr<workspace> room = std::make_shared<workspace>());
  ~conv();
  conv(const conv&) = delete;
  conv& operator=(const conv&) = delete;

  /// Works there from now on, which is no smaller; what is captured does not.
  void use(std::shared_ptr<workspace> room);
  /// Of the device, beside `room`.
  uint64_t memory_bytes() const;

  /// Chooses how convolutions like this one are done, by trying it: `y` gets numbers without meaning. Returns
  /// whether bias, residual and relu are done as well. If not, all of them are left to the caller, and the
  /// convolution without them is what is prepared. Waits for the stream, which must not be captured; cheap
  /// when the answer is known. `quick`: if one that differs in its batch alone is known, it is done like that
  /// one, untried, if it can be.
  bool prepare(const conv_args& args, cudaStream_t stream, bool quick = false);
  /// Nothing is allocated once it is prepared; else it prepares it, which a stream that is captured refuses.
  /// Refuses what `prepare` left to the caller.
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
  std::optional<cudaStream_t> stream_;  ///< of the handle, if that is known
  std::shared_ptr<workspace> room_;
  std::map<conv_key, conv_plan> plans_;
};

}  // namespace troupe::cuda
