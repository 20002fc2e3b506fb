// An emulated device whose batches and violations are reported to an observer.
#pragma once
#include <map>
#include <memory>

#include "gpu/device/emulated_device.hpp"

namespace troupe::sim {

class device_watch {
 public:
  virtual ~device_watch() = default;
  virtual void batch_started(slot_id slot, const batch_work& work, time_point now) = 0;
  virtual void batch_ended(slot_id slot, model_id model, uint32_t rows, duration took, bool stopped) = 0;
  virtual void started_while_running(slot_id slot) = 0;
  virtual void started_unloaded(slot_id slot, model_id model) = 0;
  virtual void unloaded_while_running(slot_id slot, model_id model) = 0;
};

class watched_device final : public device {
 public:
  watched_device(slot_id slot, const emulated_options& o, device_watch& watch)
      : slot_(slot), options_(o), watch_(watch), inner_(std::make_unique<emulated_device>(o)) {}

  loaded_model load(model_id id, const model_source& source) override {
    models_[id] = source;
    return inner_->load(id, source);
  }
  void unload(model_id id) override {
    if (running() && model_ == id) return watch_.unloaded_while_running(slot_, id);
    models_.erase(id);
    inner_->unload(id);
  }
  bool running() const { return inner_->poll_at() != never; }
  void start(batch_work work, time_point now) override {
    if (!models_.contains(work.model)) return watch_.started_unloaded(slot_, work.model);
    if (running()) {
      watch_.started_while_running(slot_);
      inner_ = std::make_unique<emulated_device>(options_);  // continue with the later batch
      for (const auto& [id, source] : models_) inner_->load(id, source);
    }
    watch_.batch_started(slot_, work, now);
    model_ = work.model;
    rows_ = work.rows;
    inner_->start(std::move(work), now);
  }
  bool poll(time_point now, batch_outcome& out) override {
    if (!inner_->poll(now, out)) return false;
    watch_.batch_ended(slot_, model_, rows_, out.finished_at - out.started_at, out.stopped);
    return true;
  }
  void stop(time_point now) override { inner_->stop(now); }
  time_point poll_at() const override { return inner_->poll_at(); }

 private:
  const slot_id slot_;
  const emulated_options options_;
  device_watch& watch_;
  std::unique_ptr<emulated_device> inner_;
  std::map<model_id, model_source> models_;
  model_id model_;
  uint32_t rows_ = 0;
};

}  // namespace troupe::sim
