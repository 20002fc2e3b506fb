#include "tools/node/device_pool.hpp"

#include <spdlog/spdlog.h>

#include <cstdlib>
#include <new>
#include <utility>

#include "gpu/common/device_lost.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/device/cpu_device.hpp"
#include "gpu/device/emulated_device.hpp"
#include "gpu/device/engine_choice.hpp"
#include "tools/node/model_source.hpp"
#ifdef TROUPE_CUDA
#include "gpu/device/cuda_device.hpp"
#endif

namespace troupe {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// An emulated device does not read the model file, so its signature is read here.
model_source source_of(const model_spec& m, device_kind kind) {
  auto s = source_of(m);
  if (!m.path.empty() && kind == device_kind::emulated) {
    s.signature = signature_of(s);
  } else if (m.path.empty()) {
    s.signature.inputs = {{"input", data_type::uint8, {m.input_bytes}}};
    s.signature.outputs = {{"output", data_type::uint8, {m.output_bytes}}};
  }
  return s;
}

std::unique_ptr<device> make_device(const slot_spec& s, uint64_t seed, const clock& time,
                                    std::function<void()> ready,
                                    const std::shared_ptr<model_library>& library) {
  switch (s.kind) {
    case device_kind::emulated:
      return std::make_unique<emulated_device>(emulated_options{
          s.jitter, seed, environment("TROUPE_TEST_ABORT_ON"), environment("TROUPE_TEST_THROW_ON")});
    case device_kind::cpu:
      return std::make_unique<cpu_device>(time, std::move(ready),
                                          cpu_options{static_cast<int>(s.threads), library});
    case device_kind::cuda: break;
  }
#ifdef TROUPE_CUDA
  return make_cuda_device(time, std::move(ready),
                          {.gpu = static_cast<int>(s.gpu), .exact = s.exact, .library = library});
#else
  throw model_error("a build without CUDA has no GPU for a [[node.device]]");  // the file is rejected
#endif
}

}  // namespace

device_pool::device_pool(const cluster_spec& cluster, node_id self, const clock& time, file_images& files,
                         std::function<void(slot_id)> ready)
    : cluster_(cluster), files_(files) {
  auto library = std::make_shared<model_library>();
  for (uint32_t i = 0; i < cluster.slots.size(); ++i) {
    const auto& s = cluster.slots[i];
    if (s.node != self) continue;
    devices_[slot_id{i}] = make_device(
        s, i, time, [ready, i] { ready(slot_id{i}); }, library);
  }
  thread_ = std::thread([this] { loop(); });
}

device_pool::~device_pool() { stop_loading(); }

void device_pool::load(const deployment& line, std::function<void(load_outcome)> done) {
  std::lock_guard lock(mutex_);
  jobs_.push_back({line, std::move(done)});
  wake_.notify_one();
}

void device_pool::stop_loading() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool device_pool::is_loading() {
  std::lock_guard lock(mutex_);
  return loading_;
}

void device_pool::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    const auto next = std::move(jobs_.front());
    jobs_.pop_front();
    loading_ = true;
    lock.unlock();
    run(next);
    lock.lock();
    loading_ = false;
  }
}

/// Null: there are none.
std::unique_ptr<memory_folder> device_pool::received(const deployment& line) {
  try {
    return files_.received(files_of(cluster_, line.model));
  } catch (const model_error& e) {
    spdlog::warn("event=files_from_disk model={} reason=\"{}\"", line.definition.name, e.what());
    return nullptr;
  }
}

void device_pool::run(const job& j) {
  const auto folder = received(j.line);
  auto definition = j.line.definition;
  if (folder) definition.path = folder->opened();
  const auto with_its_path = [&](std::string problem) {
    if (const auto at = folder ? problem.find(definition.path) : std::string::npos; at != std::string::npos)
      problem.replace(at, definition.path.size(), j.line.definition.path);
    return problem;
  };
  for (auto& [slot, device] : devices_) {
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    load_outcome out{slot, j.line.model, j.line.revision, {}, {}};
    try {
      auto loaded = device->load(j.line.model, source_of(definition, cluster_.slots[slot.value].kind));
      if (out.problem = images_problem(definition, loaded.signature); out.problem.empty())
        out.loaded = std::move(loaded);
      else
        device->unload(j.line.model);
    } catch (const device_lost& e) {
      out.problem = e.what();
      out.lost = true;
    } catch (const model_error& e) {
      out.problem = e.what();
    } catch (const std::bad_alloc&) {
      out.problem =
          (definition.path.empty() ? definition.name : definition.path) + ": does not fit into memory";
      out.transient = true;
    } catch (const std::exception& e) {
      out.problem = e.what();
      out.transient = true;
    }
    out.problem = with_its_path(std::move(out.problem));
    j.done(std::move(out));
  }
}

}  // namespace troupe
