#include "gpu/kernels/cuda/conv.hpp"

#include <utility>

#ifdef TROUPE_CUDNN
#include <algorithm>
#include <string>
#include <vector>

#include "gpu/kernels/cuda/conv_plan.hpp"
#include "gpu/kernels/cuda/replay_time.hpp"
#endif

namespace troupe::cuda {

#ifdef TROUPE_CUDNN

namespace {

size_t y_bytes(const conv_args& a) {
  size_t bytes = size_t{a.batch} * a.features * sizeof *a.y;
  for (uint32_t d = 0; d < a.dims; ++d) bytes *= a.out[d];
  return bytes;
}

}  // namespace

const bool conv::available = true;

conv::conv(std::shared_ptr<workspace> room) : room_(std::move(room)) {}

conv::~conv() = default;

void conv::use(std::shared_ptr<workspace> room) {
  if (handle_ != nullptr) room->convolutions();  // now, as a captured stream cannot allocate
  room_ = std::move(room);
}

uint64_t conv::memory_bytes() const {
  uint64_t sum = 0;
  for (const auto& [key, p] : plans_) sum += p.no_bias.size();
  return sum;
}

void conv::start() {
  if (handle_ != nullptr) return;
  room_->convolutions();
  int device = 0;
  check(cudaGetDevice(&device), "the device");
  handle_ = pooled_handle<cudnnHandle_t>(device, [] {
    cudnnHandle_t made = nullptr;
    if (const cudnnStatus_t status = cudnnCreate(&made); status != CUDNN_STATUS_SUCCESS)
      throw conv_error("cuDNN cannot be used: " + reason(status));
    return made;
  });
  stream_.reset();
}

void conv::use(cudaStream_t stream) {
  if (stream_ == stream) return;
  if (const cudnnStatus_t status = cudnnSetStream(handle_, stream); status != CUDNN_STATUS_SUCCESS)
    throw conv_error("cuDNN cannot use a stream: " + reason(status));
  stream_ = stream;
}

/// Runs the convolution. Returns a cudnnStatus_t.
int conv::call(const conv_plan& p, const conv_algorithm& how, const conv_args& a) const {
  const float one = 1, zero = 0;
  if (a.transposed)
    return cudnnConvolutionBackwardData(handle_, &one, p.w.get(), a.w, p.x.get(), a.x, p.what.get(),
                                        static_cast<cudnnConvolutionBwdDataAlgo_t>(how.code),
                                        room_->convolutions().data(), how.workspace, &zero, p.y.get(), a.y);
  const auto code = static_cast<cudnnConvolutionFwdAlgo_t>(how.code);
  if (!a.has_epilogue())
    return cudnnConvolutionForward(handle_, &one, p.x.get(), a.x, p.w.get(), a.w, p.what.get(), code,
                                   room_->convolutions().data(), how.workspace, &zero, p.y.get(), a.y);
  // without a residual, z is y with factor 0, and is not read
  return cudnnConvolutionBiasActivationForward(
      handle_, &one, p.x.get(), a.x, p.w.get(), a.w, p.what.get(), code, room_->convolutions().data(),
      how.workspace, a.residual == nullptr ? &zero : &one, p.y.get(),
      a.residual == nullptr ? a.y : a.residual, p.bias.get(),
      a.bias == nullptr ? p.no_bias.as<float>() : a.bias, p.behind.get(), p.y.get(), a.y);
}

double conv::microseconds(const conv_plan& p, const conv_algorithm& how, const conv_args& a, double best,
                          cudaStream_t stream) const {
  return replay_time(stream, best, [&] { return call(p, how, a) == CUDNN_STATUS_SUCCESS; });
}

/// Estimated microseconds of a separate epilogue kernel: the time of copies that move as many bytes.
double conv::pass_over(const conv_args& a, cudaStream_t stream) const {
  const size_t bytes = y_bytes(a), copied = std::min(bytes, room_->convolutions().size());
  if (copied == 0) return 0;
  const double us = replay_time(stream, never, [&] {
    return cudaMemcpyAsync(room_->convolutions().data(), a.y, copied, cudaMemcpyDeviceToDevice, stream) ==
           cudaSuccess;
  });
  if (us == never) return 0;
  return us * static_cast<double>(bytes) / static_cast<double>(copied) * (a.residual == nullptr ? 1 : 1.5);
}

/// Sets the algorithm's workspace size, at least what it needs. Returns a cudnnStatus_t.
int conv::workspace_of(const conv_plan& p, const conv_args& a, conv_algorithm& how) const {
  if (a.transposed)
    return cudnnGetConvolutionBackwardDataWorkspaceSize(
        handle_, p.w.get(), p.x.get(), p.what.get(), p.y.get(),
        static_cast<cudnnConvolutionBwdDataAlgo_t>(how.code), &how.workspace);
  const cudnnStatus_t status = cudnnGetConvolutionForwardWorkspaceSize(
      handle_, p.x.get(), p.w.get(), p.what.get(), p.y.get(),
      static_cast<cudnnConvolutionFwdAlgo_t>(how.code), &how.workspace);
  // with an epilogue cuDNN runs another kernel, which may need more
  if (a.has_epilogue()) how.workspace = std::max(how.workspace, room_->convolutions().size());
  return status;
}

/// Chooses the fastest deterministic algorithm that fits into the workspace. Returns its microseconds;
/// `never` if there is none.
double conv::choose(conv_plan& p, const conv_args& a, cudaStream_t stream) const {
  std::vector<conv_algorithm> candidates;
  const auto add = [&](int code, cudnnMathType_t math) {
    if (a.has_epilogue() && !a.relu && code != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM)
      return;  // without an activation only this algorithm takes a bias
    for (const conv_algorithm& c : candidates)
      if (c.code == code && c.math == math) return;
    candidates.push_back({code, math});
  };
  const auto consider = [&](const auto& found) {
    if (found.status != CUDNN_STATUS_SUCCESS || found.determinism != CUDNN_DETERMINISTIC) return;
    if (found.mathType == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION) return;  // converts to FP16
    add(found.algo, a.tf32 ? found.mathType : CUDNN_FMA_MATH);
  };
  constexpr int max_algorithms = 64;  // an upper bound
  cudnnConvolutionFwdAlgoPerf_t forward[max_algorithms];
  cudnnConvolutionBwdDataAlgoPerf_t back[max_algorithms];
  int count = 0;
  const cudnnStatus_t status =
      a.transposed ? cudnnGetConvolutionBackwardDataAlgorithm_v7(handle_, p.w.get(), p.x.get(), p.what.get(),
                                                                 p.y.get(), max_algorithms, &count, back)
                   : cudnnGetConvolutionForwardAlgorithm_v7(handle_, p.x.get(), p.w.get(), p.what.get(),
                                                            p.y.get(), max_algorithms, &count, forward);
  for (int i = 0; status == CUDNN_STATUS_SUCCESS && i < count; ++i)
    a.transposed ? consider(back[i]) : consider(forward[i]);
  const size_t ideas = candidates.size();  // then the algorithms that support almost any convolution
  for (const cudnnMathType_t math : {a.tf32 ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH, CUDNN_FMA_MATH})
    for (const int code : a.transposed ? std::vector<int>{CUDNN_CONVOLUTION_BWD_DATA_ALGO_1}
                                       : std::vector<int>{CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                                                          CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM})
      add(code, math);
  double best = never;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (i == ideas && best < never) break;  // trials are slow
    conv_algorithm& c = candidates[i];
    if (cudnnSetConvolutionMathType(p.what.get(), c.math) != CUDNN_STATUS_SUCCESS) continue;
    // the heuristics' size may be too small
    if (workspace_of(p, a, c) != CUDNN_STATUS_SUCCESS || c.workspace > room_->convolutions().size()) continue;
    const double us = microseconds(p, c, a, best, stream);
    if (us < best) best = us, p.how = c;
  }
  if (best < never) check(cudnnSetConvolutionMathType(p.what.get(), p.how.math), a);
  return best;
}

/// The plan for the next larger batch, or else the largest, among plans that differ only in the batch. Null
/// if there is none.
const conv_plan* conv::similar(const conv_args& a) const {
  const conv_key key = key_of(a);
  const conv_plan* found = nullptr;
  for (const auto& [other, p] : plans_) {  // ordered by batch
    if (!std::equal(key.begin() + 1, key.end(), other.begin() + 1)) continue;
    found = &p;
    if (other[0] >= key[0]) break;
  }
  return found;
}

/// Takes the algorithm of another batch. False: it does not work for this one.
bool conv::adopt(conv_plan& p, const conv_args& a, const conv_algorithm& how) const {
  p.how = how;
  return cudnnSetConvolutionMathType(p.what.get(), how.math) == CUDNN_STATUS_SUCCESS &&
         workspace_of(p, a, p.how) == CUDNN_STATUS_SUCCESS && p.how.workspace <= room_->convolutions().size();
}

void conv::add_missing_bias(conv_plan& p, const conv_args& a, cudaStream_t stream) const {
  if (!a.has_epilogue() || a.bias != nullptr) return;
  p.no_bias = device_memory(a.features * sizeof(float));
  check(cudaMemsetAsync(p.no_bias.data(), 0, p.no_bias.size(), stream), "a bias");
}

bool conv::prepare_like(const conv_args& a, const conv_plan& like, cudaStream_t stream) {
  conv_plan p;
  if (like.taken) {
    p = describe_conv(a);
    if (!adopt(p, a, like.how)) return false;
    add_missing_bias(p, a, stream);
    p.taken = true;
  } else if (!prepare(a.without_epilogue(), stream, true)) {
    return false;
  }
  plans_.emplace(key_of(a), std::move(p));
  return true;
}

bool conv::prepare(const conv_args& a, cudaStream_t stream, bool quick) {
  check(a);
  if (const auto known = plans_.find(key_of(a)); known != plans_.end()) return known->second.taken;
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &capture), "a convolution");
  if (capture != cudaStreamCaptureStatusNone)
    throw conv_error(to_string(a) + ": it must be prepared before a graph is captured");
  start();
  use(stream);
  if (const conv_plan* like = quick ? similar(a) : nullptr; like != nullptr && prepare_like(a, *like, stream))
    return plans_.at(key_of(a)).taken;

  const conv_args bare = a.without_epilogue();
  conv_plan p = describe_conv(bare);
  const double alone = choose(p, bare, stream);
  const auto refuse = [&] {
    throw conv_error(to_string(a) + ": cuDNN has no deterministic algorithm for it that needs at most " +
                     std::to_string(room_->convolutions().size() >> 20) + " MiB" + complaint());
  };
  if (!a.has_epilogue() && alone == never) refuse();
  if (alone < never) {
    p.taken = true;
    plans_.try_emplace(key_of(bare), std::move(p));
  }
  if (!a.has_epilogue()) return true;

  p = conv_plan();
  if (!a.transposed) {
    p = describe_conv(a);
    add_missing_bias(p, a, stream);
    const double with = choose(p, a, stream);
    p.taken = with < never && (alone == never || with <= alone + pass_over(a, stream));
  }
  if (!p.taken && alone == never) refuse();
  if (!p.taken) p = conv_plan();
  const bool taken = p.taken;
  plans_.emplace(key_of(a), std::move(p));
  return taken;
}

void conv::run(const conv_args& a, cudaStream_t stream) {
  check(a);
  const conv_key key = key_of(a);
  auto known = plans_.find(key);
  if (known == plans_.end()) {
    prepare(a, stream);
    known = plans_.find(key);
  }
  if (!known->second.taken)
    throw conv_error(to_string(a) + ": bias, residual and relu are left to the caller");
  use(stream);
  check(static_cast<cudnnStatus_t>(call(known->second, known->second.how, a)), a, stream);
}

#else

struct conv_algorithm {};
struct conv_plan {};

const bool conv::available = false;

conv::conv(std::shared_ptr<workspace> room) : room_(std::move(room)) {}
conv::~conv() = default;
void conv::use(std::shared_ptr<workspace> room) { room_ = std::move(room); }
uint64_t conv::memory_bytes() const { return 0; }
bool conv::prepare(const conv_args& a, cudaStream_t, bool) {
  throw conv_error(to_string(a) + ": this build has no cuDNN: install it and configure again");
}
void conv::run(const conv_args& a, cudaStream_t stream) { prepare(a, stream); }

#endif

}  // namespace troupe::cuda
