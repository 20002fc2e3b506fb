#include "gpu/device/emulated_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "gpu/common/fnv.hpp"
#include "gpu/common/model_error.hpp"

namespace troupe {

void emulated_output(std::span<const std::byte> input, std::span<std::byte> output) {
  const uint64_t hash = fnv1a(input);
  while (!output.empty()) {
    const size_t n = std::min(output.size(), sizeof hash);
    std::memcpy(output.data(), &hash, n);
    output = output.subspan(n);
  }
}

emulated_device::emulated_device(emulated_options options)
    : options_(options), random_(static_cast<std::minstd_rand::result_type>(options.seed)) {
  random_.discard(1);  // the first value is nearly the seed itself
}

loaded_model emulated_device::load(model_id id, const model_source& source) {
  if (source.signature.inputs.empty() || source.signature.outputs.empty()) {
    throw model_error(
        fmt::format("model '{}': an emulated device needs its inputs and outputs", source.name));
  }
  if (source.latency == latency_model{}) {
    throw model_error(fmt::format("model '{}': an emulated device needs its latency", source.name));
  }
  const std::scoped_lock lock(mutex_);
  models_[id] = source.latency;
  return {source.signature, source.latency, 0, 0};
}

void emulated_device::unload(model_id id) {
  assert(!running_ || running_->work.model != id);
  const std::scoped_lock lock(mutex_);
  models_.erase(id);
}

void emulated_device::start(batch_work work, time_point now) {
  assert(!running_);
  const auto marked = [&](const std::string& mark) {
    return !mark.empty() && std::ranges::any_of(work.parts, [&](const auto& part) {
      return part.input.size() >= mark.size() &&
             std::memcmp(part.input.data(), mark.data(), mark.size()) == 0;
    });
  };
  if (marked(options_.abort_on)) std::abort();
  if (marked(options_.throw_on)) throw std::runtime_error("an input begins as a test wants it");
  std::unique_lock lock(mutex_);
  const auto model = models_.find(work.model);
  if (model == models_.end()) {
    running_ = running{std::move(work), now, now, false};
    return;
  }
  const auto exact = model->second(work.rows);
  lock.unlock();
  const double fraction =
      static_cast<double>(random_() - random_.min()) / static_cast<double>(random_.max() - random_.min());
  const duration extra{static_cast<int64_t>(options_.jitter * fraction * static_cast<double>(exact.count()))};
  running_ = running{std::move(work), now, now + exact + extra, true};
}

bool emulated_device::poll(time_point now, batch_outcome& out) {
  if (!running_ || now < running_->finished_at) return false;
  out = {{}, running_->started_at, running_->finished_at, running_->stopped};
  if (!running_->loaded)
    out.errors = not_loaded(running_->work);
  else if (!running_->stopped)
    for (const auto& part : running_->work.parts) emulated_output(part.input, part.output);
  running_.reset();
  return true;
}

void emulated_device::stop(time_point now) {
  if (!running_ || now >= running_->finished_at) return;
  running_->finished_at = now;
  running_->stopped = true;
}

time_point emulated_device::poll_at() const { return running_ ? running_->finished_at : never; }

}  // namespace troupe
