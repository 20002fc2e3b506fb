// A GPU as models use it: memory, copies, kernels, products and convolutions, in the order of one stream. The
// tests' emulated_machine has the same members (tests/gpu/kernels/cuda/emulated_machine.hpp).
#pragma once
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "gpu/kernels/cuda/conv.hpp"
#include "gpu/kernels/cuda/device_group.hpp"
#include "gpu/kernels/cuda/device_memory.hpp"
#include "gpu/kernels/cuda/gemm.hpp"
#include "gpu/kernels/cuda/launch.cuh"
#include "gpu/kernels/cuda/owned_handle.hpp"
#include "gpu/kernels/cuda/owned_stream.hpp"
#include "gpu/kernels/cuda/stream_event.hpp"
#include "gpu/kernels/cuda/workspace.hpp"

namespace troupe::cuda {

/// Cluster: blocks, of kernels that leave it open. 8, or 1 where the device runs no code for sm_90
/// (runs_sm90_code).
///
/// One thread at a time, but for `upload_on_copy_stream`. What fails throws cuda_error, blas_error or
/// conv_error.
template <uint32_t Cluster>
class cuda_machine {
 public:
  using memory = device_memory;
  using host_memory = pinned_memory;
  using copy_stream_memory = stream_memory;
  using workspace = cuda::workspace;
  static constexpr uint32_t cluster = Cluster;

  /// Of the current device; `rank` of a group, if there is one.
  explicit cuda_machine(std::shared_ptr<device_group> group = nullptr, uint32_t rank = 0,
                        const std::shared_ptr<workspace>& room = std::make_shared<workspace>())
      : group_(std::move(group)), rank_(rank), products_(room), convolutions_(room) {
    int count = 0;
    check(cudaGetDevice(&device_), "the device");
    const auto fact = [&](cudaDeviceAttr which) {
      check(cudaDeviceGetAttribute(&count, which, device_), "the device's facts");
      return static_cast<uint32_t>(count);
    };
    multiprocessors_ = fact(cudaDevAttrMultiProcessorCount);
    max_shared_bytes_ = fact(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    cudaMemPool_t pool = nullptr;  // keeps what copy_stream_memory gives back: others will want as much
    uint64_t kept = std::numeric_limits<uint64_t>::max();
    check(cudaDeviceGetDefaultMemPool(&pool, device_), "the device's memory");
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept), "the device's memory");
  }
  ~cuda_machine() { quiesce(); }
  cuda_machine(const cuda_machine&) = delete;
  cuda_machine& operator=(const cuda_machine&) = delete;

  /// This thread uses the machine from now on.
  void bind() const { check(cudaSetDevice(device_), "the device"); }
  uint32_t multiprocessors() const { return multiprocessors_; }
  /// Of a block.
  size_t max_shared_bytes() const { return max_shared_bytes_; }
  cudaStream_t stream() const { return stream_; }
  uint32_t rank() const { return rank_; }
  uint32_t ranks() const { return group_ ? group_->ranks() : 1; }
  /// In place; all ranks call the same.
  void all_reduce(void* numbers, size_t count, element type) {
    group_->all_reduce(rank_, numbers, count, type, stream_);
  }
  /// Likewise: all get what the first rank has there.
  void broadcast(void* what, size_t bytes) { group_->broadcast(rank_, what, bytes, stream_); }
  /// Likewise: the first rank gets what the others have there, one after the other.
  void gather(void* what, size_t bytes) { group_->gather(rank_, what, bytes, stream_); }

  /// Waits until all ranks have arrived. Between two barriers a rank may ask for memory: that may wait for
  /// GPUs, which end what all ranks have launched, but not a collective that a rank has still to launch (NCCL
  /// issue 613).
  void barrier() {
    if (group_) group_->barrier();
  }

  /// `early`: it may be brought up before its predecessor has ended, and waits for that itself.
  template <class Kernel>
  void run(const Kernel& kernel, grid_size grid, bool early = true) {
    launch(kernel, grid, stream_, early && Cluster > 1);
  }
  void multiply(const gemm_args& args) { products_.run(args, stream_); }
  /// Before `replay`: whether `convolve` takes this convolution as it is, or leaves bias, residual and relu
  /// to the caller (conv::prepare). What y holds is lost.
  bool prepare(const conv_args& args, bool quick = false) {
    return convolutions_.prepare(args, stream_, quick);
  }
  /// Where products and convolutions work from now on, which is no smaller. Graphs work where they did.
  void use(const std::shared_ptr<workspace>& room) { products_.use(room), convolutions_.use(room); }
  /// Of the device, that is neither the workspace nor asked for by name.
  uint64_t memory_bytes() const { return convolutions_.memory_bytes(); }
  void convolve(const conv_args& args) { convolutions_.run(args, stream_); }
  /// The host's bytes stay as they are until that is done.
  void upload(void* to, const void* from, size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "a copy to the device");
  }
  void download(void* to, const void* from, size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "a copy from the device");
  }
  /// Memory with these bytes, when they are there. From any thread, beside what the stream does.
  copy_stream_memory upload_on_copy_stream(const void* from, size_t bytes) {
    bind();
    copy_stream_memory to(bytes, copies_);
    check(cudaMemcpyAsync(to.data(), from, bytes, cudaMemcpyHostToDevice, copies_), "a copy to the device");
    check_wait(cudaStreamSynchronize(copies_), "a copy to the device");
    return to;
  }
  void clear(void* what, size_t bytes) { check(cudaMemsetAsync(what, 0, bytes, stream_), "clearing memory"); }
  /// Does what `record` does, which is the same for each call with this key: the first time as it is, for
  /// what that sets up (code that is loaded, ranks that connect) does not belong into a graph; then as a
  /// graph. What cannot be captured is done as it is until it is forgotten (graph_error); of ranks it
  /// throws.
  template <class Record>
  void replay(uint32_t key, Record record) {
    const auto known = graphs_.find(key);
    if (known != graphs_.end()) return check(cudaGraphLaunch(known->second.get(), stream_), "a graph");
    record();
    if (not_captured_.contains(key)) return;  // to try each time would cost more than a graph saves
    if (group_) {
      finish();
      barrier();
      capture(key, record);
      return barrier();
    }
    try {
      graphs_.emplace(key, captured(record));  // beside what the device does
    } catch (const device_lost&) {
      throw;
    } catch (const std::exception& e) {
      // what was to be done is under way all the same
      not_captured_.insert(key);
      graph_error_ = e.what();
    }
  }
  /// What `replay` will do for this key, none of which is done now. Requires: it was all done once, whatever
  /// the addresses.
  template <class Record>
  void capture(uint32_t key, Record record) {
    auto graph = captured(record);
    check(cudaGraphUpload(graph.get(), stream_), "a graph");  // or the first replay would
    finish();
    graphs_.insert_or_assign(key, std::move(graph));
  }
  /// How many graphs there are.
  size_t graphs() const { return graphs_.size(); }
  /// The error of the last failed capture in `replay`; empty: none failed.
  const std::string& graph_error() const { return graph_error_; }
  /// All captured graphs are out of date.
  void drop_graphs() {
    finish();
    graphs_.clear();
    not_captured_.clear();
  }
  void drop_graphs(uint32_t key) {
    not_captured_.erase(key);
    if (!graphs_.contains(key)) return;
    finish();
    graphs_.erase(key);
  }
  /// How long the device takes for what `work` has it do.
  template <class Work>
  std::chrono::nanoseconds time_of(Work work) {
    const stream_event begun, ended;
    begun.record(stream_);
    work();
    ended.record(stream_);
    return ended.since(begun);
  }
  /// Marks, 0 and 1, where the stream's work ends as it is now: `reached` says whether that is done, `wait`
  /// waits for it.
  void mark(uint32_t which) { marks_[which].record(stream_); }
  bool reached(uint32_t which) {
    const cudaError_t result = cudaEventQuery(marks_[which]);
    if (result == cudaErrorNotReady) return false;
    check_wait(result, "a step");
    return true;
  }
  void wait(uint32_t which) { check_wait(cudaEventSynchronize(marks_[which]), "a step"); }
  /// Waits until all of the above is done.
  void finish() { check_wait(cudaStreamSynchronize(stream_), "a step"); }
  /// Likewise, or until it has failed: for destructors of what owns memory that the stream may still use.
  void quiesce() noexcept {
    cudaSetDevice(device_);  // of this thread, which may be another one
    cudaStreamSynchronize(stream_);
    cudaGetLastError();  // nobody's error
  }

 private:
  using graph_handle = owned<cudaGraphExec_t, cudaGraphExecDestroy>;

  template <class Record>
  graph_handle captured(Record record) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t made = nullptr;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture of a graph");
    try {
      record();
    } catch (...) {
      cudaStreamEndCapture(stream_, &graph);  // the stream is to be of use again
      if (graph != nullptr) cudaGraphDestroy(graph);
      cudaGetLastError();
      throw;
    }
    check(cudaStreamEndCapture(stream_, &graph), "capture of a graph");
    const cudaError_t result = cudaGraphInstantiate(&made, graph, 0);
    cudaGraphDestroy(graph);
    check(result, "a graph");
    return graph_handle(made);
  }

  const std::shared_ptr<device_group> group_;
  const uint32_t rank_;
  const owned_stream stream_;
  const memory_stream copies_;
  const stream_event marks_[2] = {stream_event(cudaEventDisableTiming), stream_event(cudaEventDisableTiming)};
  int device_ = 0;
  uint32_t multiprocessors_ = 0, max_shared_bytes_ = 0;
  gemm products_;
  conv convolutions_;
  std::set<uint32_t> not_captured_;
  std::string graph_error_;
  std::map<uint32_t, graph_handle> graphs_;  // go first: of what the others hold
};

}  // namespace troupe::cuda
