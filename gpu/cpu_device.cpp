#include "gpu/cpu_device.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cassert>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "gpu/model_error.hpp"
#include "gpu/onnx/executor.hpp"
#include "gpu/onnx/model.hpp"
#include "gpu/onnx/weights.hpp"
#include "gpu/profile.hpp"

namespace troupe {

namespace {

constexpr duration measuring_time = 20ms;  // for each batch size
constexpr size_t spare_plans = 16;         // beside those that `load` makes

struct open_model {
  std::shared_ptr<const onnx::model> model;
  std::shared_ptr<onnx::weights> weights;
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

/// The device's thread and what it shares with the owner.
struct cpu_device::worker {
  worker(const clock& c, std::function<void()> when_ready, cpu_options given)
      : time(c), ready(std::move(when_ready)), options(std::move(given)) {
    if (!options.library) options.library = std::make_shared<model_library>();
    thread = std::thread([this] { loop(); });
  }

  ~worker() {
    {
      const std::scoped_lock lock(mutex);
      stopping = true;
    }
    wake.notify_one();
    thread.join();
  }

  void loop() {
    onnx::use_operator_threads(options.threads);
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [this] { return stopping || task; });
      if (!task) return;
      const auto work = std::exchange(task, nullptr);
      lock.unlock();
      work();
      lock.lock();
    }
  }

  void post(std::function<void()> work) {
    {
      const std::scoped_lock lock(mutex);
      assert(!task);
      task = std::move(work);
    }
    wake.notify_one();
  }

  /// On the caller's thread: batches of other models go on meanwhile.
  loaded_model load(model_id id, const model_source& source) {
    onnx::use_operator_threads(options.threads);
    const auto [model, weights] = options.library->shelf_->open(source.path);
    const auto sizes = profiled_batch_sizes(source.max_batch);
    onnx::executor executor(model, weights, sizes.size() + spare_plans);
    for (const uint32_t rows : sizes) executor.warm(rows);
    loaded_model out{model->signature(), source.latency, model->parameter_bytes() + weights->packed_bytes(),
                     static_cast<uint32_t>(model->layers().size())};
    if (source.latency == latency_model{}) out.latency = measure(executor, out.signature, sizes);
    auto kept = std::make_shared<onnx::executor>(std::move(executor));
    const std::scoped_lock lock(mutex);
    executors.insert_or_assign(id, std::move(kept));
    return out;
  }

  latency_model measure(onnx::executor& executor, const model_signature& signature,
                        const std::vector<uint32_t>& sizes) const {
    const std::vector<std::byte> input(sizes.back() * input_row_bytes(signature));
    std::vector<std::byte> output(sizes.back() * output_row_bytes(signature));
    const auto samples = measure_latency(time, sizes, measuring_time, [&](uint32_t rows) {
      const batch_part part{rows, std::span{input}.first(rows * input_row_bytes(signature)),
                            std::span{output}.first(rows * output_row_bytes(signature))};
      executor.run(rows, {&part, 1});
    });
    return fit_latency(samples).model;
  }

  /// What went wrong; empty: nothing.
  std::string try_run(onnx::executor& model, uint32_t rows, std::span<const batch_part> parts,
                      bool& stopped) {
    try {
      stopped = !model.run(rows, parts, &stop_asked);
      return {};
    } catch (const std::exception& e) {
      return e.what();
    }
  }

  void execute(const batch_work& work) {
    std::unique_lock finding(mutex);
    const auto found = executors.find(work.model);
    const auto model = found == executors.end() ? nullptr : found->second;
    finding.unlock();
    batch_outcome out;
    out.started_at = time.now();
    if (!model) {
      out.errors = not_loaded(work);
    } else if (!try_run(*model, work.rows, work.parts, out.stopped).empty()) {
      // One request's values can make a batch fail; the others must not suffer for it.
      for (const auto& part : work.parts) {
        if (out.stopped) break;
        out.errors.push_back(try_run(*model, part.rows, {&part, 1}, out.stopped));
      }
    }
    out.finished_at = time.now();
    {
      const std::scoped_lock lock(mutex);
      outcome = std::move(out);
    }
    done.notify_all();
    ready();
  }

  const clock& time;
  std::function<void()> ready;
  cpu_options options;
  bool running = false;  // of the owner
  std::atomic<bool> stop_asked = false;

  std::mutex mutex;  // guards the rest
  std::condition_variable wake, done;
  std::unordered_map<model_id, std::shared_ptr<onnx::executor>> executors;
  std::function<void()> task;
  std::optional<batch_outcome> outcome;
  bool stopping = false;
  std::thread thread;
};

cpu_device::cpu_device(const clock& c, std::function<void()> ready, cpu_options options)
    : worker_(std::make_unique<worker>(c, std::move(ready), std::move(options))) {}
cpu_device::~cpu_device() = default;

loaded_model cpu_device::load(model_id id, const model_source& source) { return worker_->load(id, source); }

void cpu_device::unload(model_id id) {
  std::unique_lock lock(worker_->mutex);
  const auto gone = worker_->executors.extract(id);  // freed outside of the lock
  lock.unlock();
}

void cpu_device::start(batch_work work, time_point) {
  assert(!worker_->running);
  worker_->running = true;
  worker_->stop_asked = false;
  worker_->post([this, batch = std::move(work)] { worker_->execute(batch); });
}

void cpu_device::stop(time_point) {
  if (worker_->running) worker_->stop_asked = true;
}

void cpu_device::finish() {
  if (!worker_->running) return;
  std::unique_lock lock(worker_->mutex);
  worker_->done.wait(lock, [this] { return worker_->outcome.has_value(); });
}

bool cpu_device::poll(time_point, batch_outcome& out) {
  const std::scoped_lock lock(worker_->mutex);
  if (!worker_->outcome) return false;
  out = std::move(*worker_->outcome);
  worker_->outcome.reset();
  worker_->running = false;
  return true;
}

}  // namespace troupe
