#include "gpu/device/computing_device.hpp"

#include <pthread.h>

#include <atomic>
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gpu/common/device_lost.hpp"
#include "gpu/device/profile.hpp"

namespace troupe {

namespace {

constexpr duration measuring_time = 20ms;  // for each batch size
constexpr duration longest_measured = 500ms;
/// Of a model with free dimensions. Its queue learns from the requests.
constexpr latency_model before_any_request{1ms, duration{}};

}  // namespace

/// The device's thread, and the state that it shares with the owner.
struct computing_device::worker {
  worker(const clock& c, std::function<void()> when_ready, model_maker how)
      : time(c), ready(std::move(when_ready)), make(std::move(how)) {
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
    pthread_setname_np(pthread_self(), "device");
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
    std::shared_ptr<batch_model> model = make(source);
    auto latency = source.latency;
    if (source.any_shape) {
      if (latency == latency_model{}) latency = before_any_request;
    } else {
      latency = prepare(*model, source);
    }
    model->take_turns();
    loaded_model out{model->signature(), latency, model->memory_bytes(), model->layers()};
    const std::scoped_lock lock(mutex);
    std::swap(models[id], model);  // the replaced model is freed after the lock
    return out;
  }

  /// Returns the latency.
  latency_model prepare(batch_model& model, const model_source& source) const {
    const bool measures = source.latency == latency_model{};
    std::vector<latency_sample> samples;
    bool slow = false;
    for (const auto rows : profiled_batch_sizes(source.max_batch)) {
      if (!slow || !model.warms_by_running()) model.warm(rows);
      if (slow) continue;
      if (measures) samples.push_back(measure(model, rows));
      const auto took = measures ? samples.back().latency : source.latency(rows);
      slow = took > longest_measured && samples.size() != 1;  // a line has two points
    }
    return measures ? fit_latency(samples).model : source.latency;
  }

  latency_sample measure(batch_model& model, uint32_t rows) const {
    const std::vector<std::byte> input(rows * input_row_bytes(model.signature()));
    std::vector<std::byte> output(rows * output_row_bytes(model.signature()));
    const batch_part part{rows, input, output};
    return measure_latency(time, {&rows, 1}, measuring_time,
                           [&](uint32_t) {
                             model.run(rows, {&part, 1}, nullptr);
                           })
        .front();
  }

  /// Runs a batch, and returns its problem; empty: none. Throws device_lost.
  std::string try_run(batch_model& model, uint32_t rows, std::span<const batch_part> parts, bool& stopped) {
    try {
      stopped = !model.run(rows, parts, &stop_asked);
      return {};
    } catch (const device_lost&) {
      throw;
    } catch (const std::exception& e) {
      return e.what();
    }
  }

  void run(batch_model& model, const batch_work& work, batch_outcome& out) {
    auto problem = try_run(model, work.rows, work.parts, out.stopped);
    if (problem.empty()) return;
    if (work.parts.size() == 1) return out.errors.push_back(std::move(problem));
    // The values of one request can make a batch fail; the others must not fail with it.
    for (const auto& part : work.parts) {
      if (out.stopped) break;
      out.errors.push_back(try_run(model, part.rows, {&part, 1}, out.stopped));
    }
  }

  void execute(const batch_work& work) {
    std::unique_lock finding(mutex);
    const auto found = models.find(work.model);
    auto model = found == models.end() ? nullptr : found->second;
    finding.unlock();
    batch_outcome out;
    out.started_at = time.now();
    try {
      if (model)
        run(*model, work, out);
      else
        out.errors = not_loaded(work);
    } catch (const device_lost& e) {
      out.lost = e.what();
    }
    out.finished_at = time.now();
    model.reset();  // `ready` may go on to unload it
    {
      const std::scoped_lock lock(mutex);
      outcome = std::move(out);
    }
    done.notify_all();
    ready();
  }

  const clock& time;
  const std::function<void()> ready;
  const model_maker make;
  bool running = false;  // used by the owner
  std::atomic<bool> stop_asked = false;

  std::mutex mutex;  // guards the rest
  std::condition_variable wake, done;
  std::unordered_map<model_id, std::shared_ptr<batch_model>> models;
  std::function<void()> task;
  std::optional<batch_outcome> outcome;
  bool stopping = false;
  std::thread thread;
};

computing_device::computing_device(const clock& c, std::function<void()> ready, model_maker make)
    : worker_(std::make_unique<worker>(c, std::move(ready), std::move(make))) {}
computing_device::~computing_device() = default;

loaded_model computing_device::load(model_id id, const model_source& source) {
  return worker_->load(id, source);
}

void computing_device::unload(model_id id) {
  std::unique_lock lock(worker_->mutex);
  const auto gone = worker_->models.extract(id);  // freed outside of the lock
  lock.unlock();
}

void computing_device::start(batch_work work, time_point) {
  assert(!worker_->running);
  worker_->running = true;
  worker_->stop_asked = false;
  worker_->post([this, batch = std::move(work)] { worker_->execute(batch); });
}

void computing_device::stop(time_point) {
  if (worker_->running) worker_->stop_asked = true;
}

void computing_device::finish() {
  if (!worker_->running) return;
  std::unique_lock lock(worker_->mutex);
  worker_->done.wait(lock, [this] { return worker_->outcome.has_value(); });
}

bool computing_device::poll(time_point, batch_outcome& out) {
  const std::scoped_lock lock(worker_->mutex);
  if (!worker_->outcome) return false;
  out = std::move(*worker_->outcome);
  worker_->outcome.reset();
  worker_->running = false;
  return true;
}

}  // namespace troupe
