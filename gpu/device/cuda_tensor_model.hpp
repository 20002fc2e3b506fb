// An ONNX model on a GPU, as a batch_model: one program and CUDA graph for each batch size; inputs and
// outputs are staged through pinned memory. Machine is cuda_machine, or the tests' emulated_machine.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/common/device_lost.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/device/batch_model.hpp"
#include "gpu/onnx/batch_parts.hpp"
#include "gpu/onnx/cuda/make_program.hpp"
#include "gpu/onnx/cuda/program_runner.hpp"

namespace troupe::cuda {

struct tensor_model_options {
  bool tf32 = true;
  /// Memory layout of convolutions and the operators between them. `faster` is measured when the model is
  /// made.
  enum class layout : uint8_t { channels_first, channels_last, faster };
  layout convolutions = layout::faster;
  uint32_t timed_rows = 1;  ///< batch size for measuring the faster layout
  size_t max_plans = 24;    ///< batch sizes kept prepared (LRU); at least one
};

template <class Machine>
class cuda_tensor_model final : public batch_model {
 public:
  /// While it is loaded, concurrently with batches of others, the model uses the machine's own workspace;
  /// after `take_turns` it uses `shared`, if not null. Throws model_error, or the machine's exception if
  /// there is no room.
  cuda_tensor_model(std::unique_ptr<Machine> machine, std::shared_ptr<const onnx::model> model,
                    const tensor_model_options& options,
                    std::shared_ptr<typename Machine::workspace> shared = nullptr)
      : m_(std::move(machine)),
        shared_(std::move(shared)),
        model_(std::move(model)),
        options_(options),
        weights_(*m_, *model_),
        channels_last_(options.convolutions == tensor_model_options::layout::channels_last) {
    if (options.convolutions == tensor_model_options::layout::faster && has_convolutions()) choose_layout();
  }

  const model_signature& signature() const override { return model_->signature(); }
  /// Without workspaces.
  uint64_t memory_bytes() const override {
    uint64_t sum = weights_.bytes() + arena_.size() + m_->memory_bytes();
    for (const plan& p : plans_) sum += p.runner.memory_bytes();
    return sum;
  }
  uint32_t layers() const override { return static_cast<uint32_t>(model_->layers().size()); }
  bool channels_last() const { return channels_last_; }

  ~cuda_tensor_model() override {
    try {
      m_->bind();
    } catch (const std::exception&) {  // the device is lost, and its memory with it
    }
  }

  void warm(uint32_t rows) override {
    m_->bind();
    run_on_zeros(plan_for(rows, false));
  }

  /// Makes the graphs again: a graph holds the address of the workspace that it was captured with.
  void take_turns() override {
    if (!shared_) return;
    m_->bind();
    m_->drop_graphs();
    for (plan& p : plans_) explain(p.rows, [&] { settle(p, true); });
    explain(0, [&] { m_->use(shared_); });
    shared_ = nullptr;
    for (plan& p : plans_) explain(p.rows, [&] { m_->capture(p.rows, [&] { record(p); }); });
  }

  bool run(uint32_t rows, std::span<const batch_part> parts, const std::atomic<bool>* stop) override {
    onnx::check_parts(signature(), model_->program().file, rows, parts);
    if (stop != nullptr && *stop) return false;
    m_->bind();
    plan& p = plan_for(rows, true);
    onnx::gather_inputs(signature(), parts, [&](size_t i) { return staged_.data() + p.inputs[i]; });
    try {
      m_->replay(rows, [&] { record(p); });
    } catch (const std::exception&) {
      m_->finish();  // launched kernels must not overlap with the next batch, which uses the same workspace
      throw;
    }
    m_->finish();
    check_faults(p);
    onnx::scatter_outputs(
        signature(), [&](size_t i) { return staged_.data() + p.outputs[i]; }, parts);
    return true;
  }

 private:
  struct plan {
    uint32_t rows = 0;
    program_runner<Machine> runner;
    std::vector<size_t> inputs, outputs;  // offsets in the staging memory
    size_t faults = 0, staged_bytes = 0;
    bool settled = false;
  };

  bool has_convolutions() const {
    return std::ranges::any_of(model_->program().nodes,
                               [](const auto& n) { return n.op == "Conv" || n.op == "ConvTranspose"; });
  }

  /// Channels last is mostly faster on tensor cores, but not for few channels.
  void choose_layout() {
    std::optional<duration> best;
    bool fastest = false;
    std::string problem;
    for (const bool last : {false, true}) {
      channels_last_ = last;
      try {
        plan& p = plan_for(options_.timed_rows, false);
        run_on_zeros(p);
        constexpr int runs = 8;
        const duration took = m_->time_of([&] {
          for (int i = 0; i < runs; ++i) m_->replay(p.rows, [&] { record(p); });
        });
        if (!best || took < *best) best = took, fastest = last;
      } catch (const model_error& e) {  // a library need not support both layouts
        problem = e.what();
      }
      m_->drop_graphs();
      plans_.clear();
    }
    if (!best) throw model_error(problem);
    channels_last_ = fastest;
    if (!fastest) weights_.drop_filters();
  }

  /// Does the set-up of a first run, and captures the graph. The outputs do not matter.
  void run_on_zeros(plan& p) {
    std::memset(staged_.data(), 0, p.staged_bytes);
    m_->replay(p.rows, [&] { record(p); });
    m_->finish();
  }

  /// Adds the batch size to the message if the machine cannot allocate memory. 0: any batch size.
  template <class Work>
  decltype(auto) explain(uint32_t rows, Work work) {
    try {
      return work();
    } catch (const device_lost&) {
      throw;
    } catch (const model_error&) {
      throw;
    } catch (const std::exception& e) {
      throw model_error(model_->program().file + ": a batch " +
                        (rows == 0 ? "" : "of " + std::to_string(rows) + " ") + "cannot be run: " + e.what());
    }
  }

  /// `quick`: a batch is waiting.
  plan& plan_for(uint32_t rows, bool quick) {
    return explain(rows, [&]() -> plan& { return find_plan(rows, quick); });
  }

  plan& find_plan(uint32_t rows, bool quick) {
    const auto known = std::ranges::find(plans_, rows, &plan::rows);
    if (known != plans_.end()) {
      plans_.splice(plans_.begin(), plans_, known);
    } else {
      plans_.push_front(make_plan(rows));
      if (plans_.size() > options_.max_plans) {
        m_->drop_graphs(plans_.back().rows);
        plans_.pop_back();
      }
    }
    plan& p = plans_.front();
    make_room(p);
    settle(p, quick);
    return p;
  }

  void settle(plan& p, bool quick) {
    if (!p.settled) p.runner.settle(arena_.data(), quick);
    p.settled = true;
  }

  plan make_plan(uint32_t rows) {
    plan p{rows, {*m_, weights_, make_program(*model_, rows, {channels_last_, options_.tf32})}, {}, {}};
    const auto room = [&](size_t bytes) {
      return std::exchange(p.staged_bytes, p.staged_bytes + (bytes + 63) / 64 * 64);
    };
    for (const auto& port : p.runner.program().inputs) p.inputs.push_back(room(port.bytes));
    for (const auto& port : p.runner.program().outputs) p.outputs.push_back(room(port.bytes));
    p.faults = room(p.runner.fault_bytes());
    return p;
  }

  /// All plans share one arena of the largest plan's size. Graphs hold its address.
  void make_room(plan& p) {
    const size_t arena = p.runner.program().arena_bytes;
    if (arena > arena_.size() || p.staged_bytes > staged_.size()) {
      m_->drop_graphs();
      for (plan& other : plans_) other.settled = false;
      if (arena > arena_.size()) {
        arena_ = {};  // freed before the larger one is allocated
        arena_ = typename Machine::memory(arena);
      }
      if (p.staged_bytes > staged_.size()) staged_ = typename Machine::host_memory(p.staged_bytes);
    }
  }

  void record(plan& p) {
    const auto& program = p.runner.program();
    for (size_t i = 0; i < p.inputs.size(); ++i)
      m_->upload(p.runner.input(i), staged_.data() + p.inputs[i], program.inputs[i].bytes);
    p.runner.launch();
    for (size_t i = 0; i < p.outputs.size(); ++i)
      m_->download(staged_.data() + p.outputs[i], p.runner.output(i), program.outputs[i].bytes);
    if (p.runner.fault_bytes() > 0)
      m_->download(staged_.data() + p.faults, p.runner.faults(), p.runner.fault_bytes());
  }

  void check_faults(const plan& p) const {
    const auto& texts = p.runner.program().faults;
    const auto* found = reinterpret_cast<const kernel_fault*>(staged_.data() + p.faults);
    for (size_t i = 0; i < texts.size(); ++i) {
      if (found[i].found == 0) continue;
      throw model_error(texts[i].before + (texts[i].has_value ? std::to_string(found[i].value) : "") +
                        texts[i].after);
    }
  }

  const std::unique_ptr<Machine> m_;
  std::shared_ptr<typename Machine::workspace> shared_;  // null once it is used
  const std::shared_ptr<const onnx::model> model_;
  const tensor_model_options options_;
  tensor_weights<Machine> weights_;
  bool channels_last_ = false;
  std::list<plan> plans_;  // most recently used first
  typename Machine::memory arena_;
  typename Machine::host_memory staged_;
};

}  // namespace troupe::cuda
