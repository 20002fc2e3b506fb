#include "gpu/device/cpu_device.hpp"

#include <utility>

#include "gpu/device/engine_choice.hpp"
#include "gpu/device/profile.hpp"
#include "gpu/onnx/executor.hpp"
#include "gpu/onnx/model.hpp"
#include "gpu/onnx/weights.hpp"

namespace troupe {

namespace {

constexpr size_t extra_plans = 16;  // in addition to those that `load` makes

class cpu_model final : public batch_model {
 public:
  cpu_model(model_library::on_cpu opened, int threads, uint32_t max_batch)
      : opened_(std::move(opened)),
        threads_(threads),
        executor_(opened_.model, opened_.weights, profiled_batch_sizes(max_batch).size() + extra_plans) {}

  const model_signature& signature() const override { return opened_.model->signature(); }
  uint64_t memory_bytes() const override {
    return opened_.model->parameter_bytes() + opened_.weights->packed_bytes();
  }
  uint32_t layers() const override { return static_cast<uint32_t>(opened_.model->layers().size()); }
  void warm(uint32_t rows) override {
    onnx::use_operator_threads(threads_);
    executor_.warm(rows);
  }
  bool run(uint32_t rows, std::span<const batch_part> parts, const std::atomic<bool>* stop) override {
    onnx::use_operator_threads(threads_);
    return executor_.run(rows, parts, stop);
  }

 private:
  model_library::on_cpu opened_;
  int threads_;
  onnx::executor executor_;
};

}  // namespace

model_maker on_cpu(cpu_options o) {
  if (!o.library) o.library = std::make_shared<model_library>();
  return [o = std::move(o)](const model_source& source) -> std::unique_ptr<batch_model> {
    onnx::use_operator_threads(o.threads);
    return std::make_unique<cpu_model>(o.library->model_on_cpu(source), o.threads, source.max_batch);
  };
}

void plan_on_cpu(std::shared_ptr<const onnx::model> model, uint32_t max_batch) {
  auto empty = std::make_shared<onnx::weights>(model->layers());
  onnx::executor plans(std::move(model), std::move(empty), 1);
  for (const auto rows : profiled_batch_sizes(max_batch)) plans.warm(rows);
}

cpu_device::cpu_device(const clock& c, std::function<void()> ready, cpu_options options)
    : computing_device(c, std::move(ready), on_chosen_engine(std::move(options))) {}

}  // namespace troupe
