// A GPU for models: memory, copies, kernels, products and convolutions, in the order of one stream. The
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

/// Cluster: cluster size of kernels that take it as a parameter: 8, or 1 on devices without code for sm_90
/// (runs_sm90_code).
///
/// Used by one thread at a time, except `upload_on_copy_stream`. Failures throw cuda_error, blas_error or
/// conv_error.
template <uint32_t Cluster>
class cuda_machine {
 public:
  using memory = device_memory;
  using host_memory = pinned_memory;
  using copy_stream_memory = stream_memory;
  using workspace = cuda::workspace;
  static constexpr uint32_t cluster = Cluster;

  /// Uses the current device. `rank`: in the group, if there is one.
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
    cudaMemPool_t pool = nullptr;  // keeps the memory that copy_stream_memory frees, for later allocations
    uint64_t kept = std::numeric_limits<uint64_t>::max();
    check(cudaDeviceGetDefaultMemPool(&pool, device_), "the device's memory");
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept), "the device's memory");
  }
  ~cuda_machine() { quiesce(); }
  cuda_machine(const cuda_machine&) = delete;
  cuda_machine& operator=(const cuda_machine&) = delete;

  /// Makes the calling thread the user of the machine.
  void bind() const { check(cudaSetDevice(device_), "the device"); }
  uint32_t multiprocessors() const { return multiprocessors_; }
  /// Limit for a block.
  size_t max_shared_bytes() const { return max_shared_bytes_; }
  cudaStream_t stream() const { return stream_; }
  uint32_t rank() const { return rank_; }
  uint32_t ranks() const { return group_ ? group_->ranks() : 1; }
  /// In place. All ranks must make the same call.
  void all_reduce(void* numbers, size_t count, element type) {
    group_->all_reduce(rank_, numbers, count, type, stream_);
  }
  /// Likewise. All ranks get the bytes of rank 0.
  void broadcast(void* what, size_t bytes) { group_->broadcast(rank_, what, bytes, stream_); }
  /// Likewise. Rank 0 gets `bytes` of each other rank at `what`, in the order of ranks.
  void gather(void* what, size_t bytes) { group_->gather(rank_, what, bytes, stream_); }

  /// Waits until all ranks have arrived. Between two barriers a rank may allocate memory. Allocation may wait
  /// for GPUs: these finish collectives that all ranks have launched, but hang in one that a rank has not
  /// launched yet (NCCL issue 613).
  void barrier() {
    if (group_) group_->barrier();
  }

  /// `early`: programmatic dependent launch. The kernel may start before its predecessor has ended, and waits
  /// for it itself.
  template <class Kernel>
  void run(const Kernel& kernel, grid_size grid, bool early = true) {
    launch(kernel, grid, stream_, early && Cluster > 1);
  }
  void multiply(const gemm_args& args) { products_.run(args, stream_); }
  /// Call before `replay`. Returns true if `convolve` fuses bias, residual and ReLU of this convolution,
  /// false if it leaves them to the caller (conv::prepare). Overwrites y.
  bool prepare(const conv_args& args, bool quick = false) {
    return convolutions_.prepare(args, stream_, quick);
  }
  /// Sets the workspace of products and convolutions. Captured graphs keep the old one. Requires: it is not
  /// smaller.
  void use(const std::shared_ptr<workspace>& room) { products_.use(room), convolutions_.use(room); }
  /// Device memory in use, without the workspace and memory that the caller allocated. In bytes.
  uint64_t memory_bytes() const { return convolutions_.memory_bytes(); }
  void convolve(const conv_args& args) { convolutions_.run(args, stream_); }
  /// The host's bytes must stay unchanged until the copy is done.
  void upload(void* to, const void* from, size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "a copy to the device");
  }
  void download(void* to, const void* from, size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "a copy from the device");
  }
  /// Returns memory with these bytes once they are copied. From any thread, concurrently with the stream's
  /// work.
  copy_stream_memory upload_on_copy_stream(const void* from, size_t bytes) {
    bind();
    copy_stream_memory to(bytes, copies_);
    check(cudaMemcpyAsync(to.data(), from, bytes, cudaMemcpyHostToDevice, copies_), "a copy to the device");
    check_wait(cudaStreamSynchronize(copies_), "a copy to the device");
    return to;
  }
  /// Enqueues copy 0 or 1 to the device on the copy stream. `from` should be pinned.
  void begin_copy(uint32_t which, void* to, const void* from, size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, copies_), "a copy to the device");
    copied_[which].record(copies_);
  }
  /// Waits for that copy, if it was begun.
  void finish_copy(uint32_t which) {
    check_wait(cudaEventSynchronize(copied_[which]), "a copy to the device");
  }
  void clear(void* what, size_t bytes) { check(cudaMemsetAsync(what, 0, bytes, stream_), "clearing memory"); }
  /// Runs the work that `record` enqueues, which must be the same for each call with this key. The first call
  /// runs it directly, as its set-up (loading code, connecting ranks) cannot be captured; later calls replay
  /// a graph. Work whose capture fails runs directly until `drop_graphs` (graph_error); with ranks, the
  /// failure throws.
  template <class Record>
  void replay(uint32_t key, Record record) {
    const auto known = graphs_.find(key);
    if (known != graphs_.end()) return check(cudaGraphLaunch(known->second.get(), stream_), "a graph");
    record();
    if (not_captured_.contains(key)) return;  // trying each time would cost more than a graph saves
    if (group_) {
      finish();
      barrier();
      capture(key, record);
      return barrier();
    }
    try {
      graphs_.emplace(key, captured(record));  // concurrently with the device's work
    } catch (const device_lost&) {
      throw;
    } catch (const std::exception& e) {
      // the work itself is running all the same
      not_captured_.insert(key);
      graph_error_ = e.what();
    }
  }
  /// Captures the graph for this key without running it. Requires: the same work ran once, with any
  /// addresses.
  template <class Record>
  void capture(uint32_t key, Record record) {
    auto graph = captured(record);
    check(cudaGraphUpload(graph.get(), stream_), "a graph");  // otherwise the first replay would upload it
    finish();
    graphs_.insert_or_assign(key, std::move(graph));
  }
  /// Number of captured graphs.
  size_t graphs() const { return graphs_.size(); }
  /// The error of the last failed capture in `replay`; empty: none failed.
  const std::string& graph_error() const { return graph_error_; }
  /// Drops all captured graphs.
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
  /// The device's time for the work that `work` enqueues.
  template <class Work>
  std::chrono::nanoseconds time_of(Work work) {
    const stream_event begun, ended;
    begun.record(stream_);
    work();
    ended.record(stream_);
    return ended.since(begun);
  }
  /// Sets mark 0 or 1 at the present end of the stream's work. `reached` is true when that work is done;
  /// `wait` waits for it.
  void mark(uint32_t which) { marks_[which].record(stream_); }
  bool reached(uint32_t which) {
    const cudaError_t result = cudaEventQuery(marks_[which]);
    if (result == cudaErrorNotReady) return false;
    check_wait(result, "a step");
    return true;
  }
  void wait(uint32_t which) { check_wait(cudaEventSynchronize(marks_[which]), "a step"); }
  /// Waits for all work of the stream.
  void finish() { check_wait(cudaStreamSynchronize(stream_), "a step"); }
  /// The same without errors: for destructors of owners of memory that the stream may still use.
  void quiesce() noexcept {
    cudaSetDevice(device_);  // for this thread, which may be another one
    cudaStreamSynchronize(stream_);
    cudaGetLastError();  // clears the error
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
      cudaStreamEndCapture(stream_, &graph);  // makes the stream usable again
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
  const stream_event copied_[2] = {stream_event(cudaEventDisableTiming), stream_event(cudaEventDisableTiming)};
  int device_ = 0;
  uint32_t multiprocessors_ = 0, max_shared_bytes_ = 0;
  gemm products_;
  conv convolutions_;
  std::set<uint32_t> not_captured_;
  std::string graph_error_;
  std::map<uint32_t, graph_handle> graphs_;  // destroyed first, as they use the other members
};

}  // namespace troupe::cuda
