// Runs a program (tensor_program.hpp) on a machine: fills in addresses and launches the steps in one stream.
// It neither allocates nor waits, so the stream can be captured as a graph.
#pragma once
#include <variant>
#include <vector>

#include "gpu/onnx/cuda/tensor_program.hpp"
#include "gpu/onnx/cuda/tensor_weights.hpp"

namespace troupe::cuda {

template <class Machine>
class program_runner {
 public:
  /// Copies the program's constants to the device. The arguments must outlive this.
  program_runner(Machine& machine, tensor_weights<Machine>& weights, tensor_program program)
      : m_(machine), weights_(weights), p_(std::move(program)) {
    size_t bytes = 0;
    for (const auto& c : p_.constants) {
      constant_at_.push_back(bytes);
      bytes += (c.bytes() + 63) / 64 * 64;
    }
    std::vector<std::byte> all(bytes);
    for (size_t i = 0; i < p_.constants.size(); ++i)
      std::copy_n(p_.constants[i].data->data(), p_.constants[i].bytes(), all.data() + constant_at_[i]);
    constants_ = typename Machine::memory(bytes);
    if (bytes > 0) m_.upload(constants_.data(), all.data(), bytes);
    faults_ = typename Machine::memory(fault_bytes());
    m_.finish();
  }

  const tensor_program& program() const { return p_; }
  uint64_t memory_bytes() const { return constants_.size() + faults_.size(); }
  size_t fault_bytes() const { return p_.faults.size() * sizeof(kernel_fault); }
  std::byte* faults() const { return faults_.data(); }
  std::byte* input(size_t i) { return address(p_.inputs[i].where); }
  std::byte* output(size_t i) { return address(p_.outputs[i].where); }

  /// Sets the memory of the buffers, `arena_bytes` at `arena`. Chooses the convolution algorithms by trying
  /// them, which takes time; with `quick`, takes those of another number of rows. Overwrites the memory.
  void settle(std::byte* arena, bool quick) {
    arena_ = arena;
    takes_all_.clear();
    for (const auto& s : p_.steps) {
      const auto* c = std::get_if<conv_step>(&s);
      takes_all_.push_back(c != nullptr && m_.prepare(bound(*c), quick));
    }
  }

  /// Launches all steps. Requires: `settle` was called, and the inputs are copied, or being copied in the
  /// stream.
  void launch() {
    after_kernel_ = false;
    if (fault_bytes() > 0) m_.clear(faults_.data(), fault_bytes());
    for (size_t i = 0; i < p_.steps.size(); ++i)
      std::visit([&](const auto& s) { run(s, takes_all_[i]); }, p_.steps[i]);
  }

 private:
  std::byte* address(const place& at) {
    switch (at.where) {
      case place::in::arena: return arena_ + p_.offsets[at.index];
      case place::in::parameter: return const_cast<std::byte*>(weights_.parameter(at.layer, at.index));
      case place::in::filters: return const_cast<std::byte*>(weights_.filters(at.layer, at.index));
      case place::in::constant: return constants_.data() + constant_at_[at.index];
      default: return nullptr;
    }
  }
  float* floats(const place& at) { return reinterpret_cast<float*>(address(at)); }
  kernel_fault* fault(uint32_t i) {
    return i == no_fault ? nullptr : reinterpret_cast<kernel_fault*>(faults_.data()) + i;
  }

  /// Uses a programmatic dependent launch only behind one of our own kernels, not behind a library's or a
  /// copy.
  template <class Kernel>
  void start(const Kernel& k) {
    m_.run(k, k.grid(), after_kernel_);
    after_kernel_ = true;
  }

  template <class T, uint32_t Width>
  void start_chain(const pointwise_chain& c) {
    start(pointwise_kernel<T, Width>{c});
  }
  void run(const pointwise_step& s, bool) {
    pointwise_chain c = s.chain;
    for (uint32_t i = 0; i < c.operands; ++i) c.in[i].data = address(s.in[i]);
    c.out = address(s.out), c.fault = fault(s.fault);
    switch (s.numbers) {
      case calculated_in::f64: return start_chain<double, 1>(c);
      case calculated_in::i64: return start_chain<int64_t, 1>(c);
      case calculated_in::u64: return start_chain<uint64_t, 1>(c);
      default: return s.width == 4 ? start_chain<float, 4>(c) : start_chain<float, 1>(c);
    }
  }

  /// Launches the instance of a kernel for words of this many bytes.
  template <template <uint32_t> class Kernel, uint32_t MaxBytes = 16, class Args>
  void start_words(const Args& args, uint32_t word) {
    switch (word) {
      case 1: return start(Kernel<1>{args});
      case 2: return start(Kernel<2>{args});
      case 4: return start(Kernel<4>{args});
      case 8: return start(Kernel<8>{args});
      default:
        if constexpr (MaxBytes == 16) start(Kernel<16>{args});
    }
  }
  void run(const copy_step& s, bool) {
    box_copy a = s.box;
    a.from = address(s.from), a.to = address(s.to);
    start_words<copy_kernel>(a, s.word);
  }
  void run(const pad_step& s, bool) {
    padding a = s.args;
    a.from = address(s.from), a.to = address(s.to);
    start_words<pad_kernel, 8>(a, s.word);
  }
  void run(const gather_step& s, bool) {
    gathering a = s.args;
    a.from = address(s.from), a.indices = address(s.indices), a.to = address(s.to), a.fault = fault(s.fault);
    start_words<gather_kernel>(a, s.word);
  }
  void run(const pool_step& s, bool) {
    pool_kernel k = s.args;
    k.x = floats(s.x), k.y = floats(s.y);
    start(k);
  }

  template <template <uint32_t> class Kernel>
  void start_rows(const row_step& s) {
    const auto with = [&](auto k) {
      static_cast<row_args&>(k) = s.args;
      k.x = floats(s.x), k.y = floats(s.y);
      if constexpr (requires { k.epsilon; })
        k.scale = floats(s.scale), k.shift = floats(s.shift), k.epsilon = s.epsilon;
      start(k);
    };
    row_lanes(s.args.n) > 32 ? with(Kernel<256>{}) : with(Kernel<32>{});
  }
  void run(const row_step& s, bool) {
    switch (s.what) {
      case row_step::kind::softmax: return start_rows<softmax_kernel>(s);
      case row_step::kind::layer_norm: return start_rows<layer_norm_kernel>(s);
      case row_step::kind::mean: return start_rows<mean_kernel>(s);
    }
  }

  void run(const product_step& s, bool) {
    gemm_args a = s.args;
    a.x = address(s.x), a.w = address(s.w), a.bias = address(s.bias), a.y = address(s.y);
    m_.multiply(a);
    after_kernel_ = false;
  }
  conv_args bound(const conv_step& s) {
    conv_args a = s.args;
    a.x = floats(s.x), a.w = floats(s.w), a.y = floats(s.y);
    a.bias = floats(s.bias), a.residual = floats(s.residual);
    return a;
  }
  void run(const conv_step& s, bool takes_all) {
    const conv_args a = bound(s);
    m_.convolve(takes_all ? a : a.without_epilogue());
    after_kernel_ = false;
    if (!takes_all && a.has_epilogue()) run(s.behind, false);
  }

  Machine& m_;
  tensor_weights<Machine>& weights_;
  tensor_program p_;
  std::vector<size_t> constant_at_;
  typename Machine::memory constants_, faults_;
  std::byte* arena_ = nullptr;
  std::vector<bool> takes_all_;  // by step: the convolution fuses its bias, residual and ReLU
  bool after_kernel_ = false;
};

}  // namespace troupe::cuda
