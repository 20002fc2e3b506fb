// The members of cuda_machine (gpu/kernels/cuda/cuda_machine.cuh) without a GPU: kernels run in the emulator,
// and products and convolutions are plain loops. Work is deferred until it is waited for or polled: code that
// touches memory with pending reads or writes of a stream gets wrong numbers.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "gpu/kernels/cuda/conv_args.hpp"
#include "gpu/kernels/cuda/gemm_args.hpp"
#include "gpu/kernels/cuda/rank_barrier.hpp"
#include "tests/gpu/kernels/cuda/conv_reference.hpp"
#include "tests/gpu/kernels/cuda/emulator.hpp"
#include "tests/gpu/kernels/cuda/gemm_reference.hpp"

namespace troupe::cuda {

/// Ranks with collectives, each on a thread of its own.
class emulated_group {
 public:
  explicit emulated_group(uint32_t ranks) : ranks_(ranks), shown_(ranks), barrier_(ranks) {}
  uint32_t ranks() const { return ranks_; }
  /// Sums in the order of the ranks, rounded once. Throws after abort().
  void all_reduce(uint32_t rank, void* numbers, size_t count, element type) {
    shown_[rank] = numbers;
    barrier();
    std::vector<float> sums(count);
    for (const void* addend : shown_)
      for (size_t i = 0; i < count; ++i) sums[i] += element_at(addend, type, i);
    barrier();
    for (size_t i = 0; i < count; ++i) set_element(numbers, type, i, sums[i]);
  }
  /// Copies the first rank's bytes to all ranks.
  void broadcast(uint32_t rank, void* what, size_t bytes) {
    shown_[rank] = what;
    barrier();
    if (rank > 0) std::memcpy(what, shown_[0], bytes);
    barrier();
  }
  /// Gathers the other ranks' bytes at the first rank, one after the other.
  void gather(uint32_t rank, void* what, size_t bytes) {
    shown_[rank] = what;
    barrier();
    for (uint32_t from = 1; rank == 0 && from < ranks_; ++from)
      std::memcpy(static_cast<std::byte*>(what) + (from - 1) * bytes, shown_[from], bytes);
    barrier();
  }
  void barrier() { barrier_.arrive_and_wait(); }
  void abort() { barrier_.abort(); }
  /// Completed phases of the barrier, including those of the collectives.
  uint64_t phases() { return barrier_.phases(); }

 private:
  const uint32_t ranks_;
  std::vector<const void*> shown_;
  rank_barrier barrier_;
};

class emulated_machine {
 public:
  /// Memory is NaN at first. An allocation of more than `max_bytes` fails; `taken` is the total of all
  /// allocations.
  template <class Kind>
  class memory_of {
   public:
    static inline size_t max_bytes = std::numeric_limits<size_t>::max();
    static inline std::atomic<size_t> taken = 0;
    memory_of() = default;
    explicit memory_of(size_t bytes)
        : bytes_(bytes),
          data_(static_cast<std::byte*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256)), {bytes}) {
      taken += bytes;
      if (bytes > max_bytes) throw std::bad_alloc();
      if (bytes > 0) std::memset(data_.get(), 0xff, bytes);
    }
    std::byte* data() const { return data_.get(); }
    template <class T>
    T* as() const {
      return reinterpret_cast<T*>(data_.get());
    }
    size_t size() const { return bytes_; }

   private:
    struct counted_deleter {
      size_t bytes;
      void operator()(void* p) const { std::free(p), taken -= bytes; }
    };
    size_t bytes_ = 0;
    std::unique_ptr<std::byte, counted_deleter> data_;
  };
  using memory = memory_of<struct of_device>;
  using host_memory = memory_of<struct of_host>;
  using copy_stream_memory = memory;
  static constexpr uint32_t cluster = 2;  // fewer threads to emulate
  /// Serializes products and convolutions, of any kind.
  class workspace {
   public:
    void use(const std::function<void()>& work) {
      if (busy_.exchange(true)) throw std::logic_error("two work in one workspace");
      ++uses_;
      work();
      busy_ = false;
    }
    uint32_t uses() const { return uses_; }

   private:
    std::atomic<bool> busy_ = false;
    std::atomic<uint32_t> uses_ = 0;
    const memory room_{4096};
  };

  explicit emulated_machine(uint32_t seed = 0, std::shared_ptr<workspace> room = nullptr)
      : seed_(seed), room_(room ? std::move(room) : std::make_shared<workspace>()) {}
  emulated_machine(uint32_t seed, std::shared_ptr<emulated_group> group, uint32_t rank)
      : emulated_machine(seed) {
    group_ = std::move(group), rank_ = rank;
  }
  void bind() const {}
  uint32_t multiprocessors() const { return 2; }
  static inline size_t max_shared = size_t{227} << 10;  // per block, on Hopper
  size_t max_shared_bytes() const { return max_shared; }
  uint32_t rank() const { return rank_; }
  uint32_t ranks() const { return group_ ? group_->ranks() : 1; }
  void all_reduce(void* numbers, size_t count, element type) {
    add([=, this] { group_->all_reduce(rank_, numbers, count, type); });
  }
  void broadcast(void* what, size_t bytes) {
    add([=, this] { group_->broadcast(rank_, what, bytes); });
  }
  void gather(void* what, size_t bytes) {
    add([=, this] { group_->gather(rank_, what, bytes); });
  }
  void barrier() {
    if (group_) group_->barrier();
  }

  template <class Kernel>
  void run(const Kernel& kernel, grid_size grid, bool = true) {
    if (kernel.shared_bytes() > max_shared) throw std::runtime_error("a block has less shared memory");
    add([=, this] { emulate(kernel, grid, seed_++); });
  }
  void multiply(const gemm_args& args) {
    work_in_room([args] { gemm_reference(args); });
  }
  void use(std::shared_ptr<workspace> room) { room_ = std::move(room); }
  uint64_t memory_bytes() const {
    uint64_t sum = 0;
    for (const auto& [key, b] : no_biases_) sum += b.size();
    return sum;
  }
  /// Returns the same as cuda_machine's; the content of y is lost, too.
  bool prepare(const conv_args& a, bool quick = false) {
    check(a);
    if (prepared_.contains(key_of(a))) return takes(a);
    if (recording_ != nullptr)
      throw conv_error(to_string(a) + ": it can be prepared only before a graph is captured");
    finish();
    trials_ += !quick;
    prepared_.insert(key_of(a.without_epilogue()));
    prepared_.insert(key_of(a));
    if (takes(a) && a.has_epilogue() && a.bias == nullptr)
      no_biases_.emplace(key_of(a), memory(a.features * sizeof(float)));
    size_t numbers = size_t{a.batch} * a.features;
    for (uint32_t d = 0; d < a.dims; ++d) numbers *= a.out[d];
    std::memset(a.y, 0xff, numbers * sizeof *a.y);
    return takes(a);
  }
  void convolve(const conv_args& a) {
    check(a);
    if (!takes(a)) throw conv_error(to_string(a) + ": bias, residual and relu are left to the caller");
    if (recording_ != nullptr && !prepared_.contains(key_of(a)))
      throw conv_error(to_string(a) + ": it must be prepared before a graph is captured");
    work_in_room([a] { conv_reference(a); });
  }
  /// Whether convolutions that are not transposed fuse bias, residual and relu.
  void fuse_convolutions(bool on) { fuses_ = on; }
  /// Convolutions prepared by trials.
  uint32_t trials() const { return trials_; }
  void upload(void* to, const void* from, size_t bytes) { copy(to, from, bytes); }
  void download(void* to, const void* from, size_t bytes) { copy(to, from, bytes); }
  copy_stream_memory upload_on_copy_stream(const void* from, size_t bytes) {
    copy_stream_memory to(bytes);
    std::memcpy(to.data(), from, bytes);
    return to;
  }
  void begin_copy(uint32_t which, void* to, const void* from, size_t bytes) {
    copies_.add([=] { std::memcpy(to, from, bytes); });
    copies_.mark(which);
  }
  void finish_copy(uint32_t which) { copies_.wait(which); }
  void clear(void* what, size_t bytes) {
    add([=] { std::memset(what, 0, bytes); });
  }
  /// Replays the work that `record` enqueued the first time, without calling it again.
  template <class Record>
  void replay(uint32_t key, Record record) {
    if (!graphs_.contains(key)) capture(key, record);
    add([&graph = graphs_.at(key)] {
      for (const auto& w : graph) w();
    });
  }
  template <class Record>
  void capture(uint32_t key, Record record) {
    std::vector<work> graph;
    ++captures_;
    recording_ = &graph;
    try {
      record();
    } catch (...) {
      recording_ = nullptr;
      throw;
    }
    recording_ = nullptr;
    graphs_.insert_or_assign(key, std::move(graph));
  }
  void drop_graphs() {
    finish();
    graphs_.clear();
  }
  void drop_graphs(uint32_t key) {
    finish();
    graphs_.erase(key);
  }
  /// Returns the next of the durations given to `takes`.
  template <class Work>
  std::chrono::nanoseconds time_of(Work ordered) {
    ordered();
    finish();
    if (takes_.empty()) return std::chrono::nanoseconds(1);
    const auto took = takes_.front();
    takes_.erase(takes_.begin());
    return took;
  }
  void takes(std::vector<std::chrono::nanoseconds> times) { takes_ = std::move(times); }
  void mark(uint32_t which) { stream_.mark(which); }
  /// Each call runs one more piece of the stream's work. With other ranks, wait instead.
  bool reached(uint32_t which) {
    if (group_) return true;
    if (!stream_.reached(which)) stream_.do_next();
    return stream_.reached(which);
  }
  void wait(uint32_t which) { stream_.wait(which); }
  void finish() {
    while (!stream_.idle()) stream_.do_next();
  }
  /// Drops work that was not waited for.
  void quiesce() noexcept { stream_.drop(); }
  uint32_t captures() const { return captures_; }
  size_t graphs() const { return graphs_.size(); }
  bool idle() const { return stream_.idle(); }

 private:
  using work = std::function<void()>;

  /// Work in its order, which runs when it is waited for.
  class stream {
   public:
    void add(work w) { waiting_.push_back(std::move(w)), ++begun_; }
    void mark(uint32_t which) { marks_[which] = begun_; }
    bool reached(uint32_t which) const { return done_ >= marks_[which]; }
    void wait(uint32_t which) {
      while (!reached(which)) do_next();
    }
    void do_next() {
      const work next = std::move(waiting_.front());
      waiting_.pop_front();
      ++done_;
      next();
    }
    void drop() noexcept { waiting_.clear(), done_ = begun_; }
    bool idle() const { return waiting_.empty(); }

   private:
    std::deque<work> waiting_;
    uint64_t begun_ = 0, done_ = 0, marks_[2] = {};
  };

  void add(work w) {
    if (recording_ != nullptr) return recording_->push_back(std::move(w));
    stream_.add(std::move(w));
  }
  /// Bound to the current workspace: a graph keeps the address, even if the workspace is freed.
  void work_in_room(work w) {
    add([w = std::move(w), place = std::weak_ptr(room_)] {
      const auto room = place.lock();
      if (!room) throw std::logic_error("it works in memory that was given back");
      room->use(w);
    });
  }
  void copy(void* to, const void* from, size_t bytes) {
    add([=] { std::memcpy(to, from, bytes); });
  }
  bool takes(const conv_args& a) const { return !a.has_epilogue() || (fuses_ && !a.transposed); }

  uint32_t seed_;
  std::shared_ptr<workspace> room_;
  std::shared_ptr<emulated_group> group_;
  uint32_t rank_ = 0;
  stream stream_, copies_;
  std::map<uint32_t, std::vector<work>> graphs_;
  std::vector<work>* recording_ = nullptr;  // the graph in capture
  uint32_t captures_ = 0;
  std::vector<std::chrono::nanoseconds> takes_;
  std::set<conv_key> prepared_;
  std::map<conv_key, memory> no_biases_;
  uint32_t trials_ = 0;
  bool fuses_ = true;
};

}  // namespace troupe::cuda
