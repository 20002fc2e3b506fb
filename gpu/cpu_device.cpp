#include "gpu/cpu_device.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "gpu/model_error.hpp"
#include "gpu/onnx/executor.hpp"
#include "gpu/onnx/model.hpp"
#include "gpu/onnx/weights.hpp"
#include "gpu/profile.hpp"

namespace troupe {

namespace {

constexpr size_t spare_plans = 16;  // beside those that `load` makes

struct open_model {
  std::shared_ptr<const onnx::model> model;
  std::shared_ptr<onnx::weights> weights;
};

class cpu_model final : public batch_model {
 public:
  cpu_model(open_model opened, int threads, uint32_t max_batch)
      : opened_(std::move(opened)),
        threads_(threads),
        executor_(opened_.model, opened_.weights, profiled_batch_sizes(max_batch).size() + spare_plans) {}

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
  open_model opened_;
  int threads_;
  onnx::executor executor_;
};

}  // namespace

struct model_library::shelf {
  std::mutex mutex;
  struct entry {
    std::weak_ptr<const onnx::model> model;
    std::weak_ptr<onnx::weights> weights;
  };
  std::map<std::pair<std::string, std::filesystem::file_time_type>, entry> models;

  /// Opening under the lock lets devices that load the same file at once share it.
  open_model open(const std::string& path) {
    const std::scoped_lock lock(mutex);
    std::error_code error;
    const auto written = std::filesystem::last_write_time(path, error);
    if (error) throw model_error(fmt::format("{}: {}", path, error.message()));
    auto& known = models[{path, written}];
    open_model found{known.model.lock(), known.weights.lock()};
    if (!found.model || !found.weights) {
      found.model = onnx::model::load(path);
      found.weights = onnx::load_weights(*found.model);
      known = {found.model, found.weights};
    }
    return found;
  }
};

model_library::model_library() : shelf_(std::make_unique<shelf>()) {}
model_library::~model_library() = default;

model_maker on_cpu(cpu_options o) {
  if (!o.library) o.library = std::make_shared<model_library>();
  return [o = std::move(o)](const model_source& source) -> std::unique_ptr<batch_model> {
    onnx::use_operator_threads(o.threads);
    return std::make_unique<cpu_model>(o.library->shelf_->open(source.path), o.threads, source.max_batch);
  };
}

cpu_device::cpu_device(const clock& c, std::function<void()> ready, cpu_options options)
    : computing_device(c, std::move(ready), on_cpu(std::move(options))) {}

}  // namespace troupe
