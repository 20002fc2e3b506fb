#include "gpu/llm/computing_engine_device.hpp"

#include <fmt/format.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "gpu/checkpoint/parameters.hpp"
#include "gpu/common/device_lost.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/llm/adapter_loader.hpp"
#include "gpu/llm/image_set.hpp"
#include "gpu/llm/steps_in_flight.hpp"

namespace troupe::llm {
/// The device's thread, and the state that it shares with the owner.
struct computing_engine_device::worker {
  worker(const clock& c, std::function<void()> when_ready, computing_options given)
      : time(c),
        ready(std::move(when_ready)),
        options(std::move(given)),
        in_flight(c, [this](engine_event e) { report(std::move(e)); }),
        loader(options.adapter_bytes, [this](adapter_loader::outcome o) { arrived(std::move(o)); }),
        thread([this] { run(); }) {}

  ~worker() { stop(); }

  // called by the owner

  void stop() {
    {
      const std::scoped_lock lock(mutex);
      stopping = true;
    }
    wake.notify_one();
    loader.stop();
    if (thread.joinable()) thread.join();
    if (images) images->forget(listener);
  }

  void start(const llm_step& what, std::span<const token_sampling> samplings, const layer_range& layers) {
    assert(facts_then.layers > 0 && under_way <= facts_then.steps_ahead && what.rows() > 0);
    assert(layers.first < layers.end && std::min(layers.end, facts_then.layers) <= facts_then.layers_ready);
    assert(samplings.size() == (layers.end < facts_then.layers ? 0 : what.sampled.size()));
    assert(layers.x != nullptr || (layers.first == 0 && layers.end >= facts_then.layers));
    ++under_way;
    {
      const std::scoped_lock lock(mutex);
      if (!failed) steps.push_back({&what, samplings, layers});
    }
    wake.notify_one();
  }

  bool poll(engine_event& out) {
    const std::scoped_lock lock(mutex);
    if (events.empty()) return false;
    std::swap(out, events.front());
    if (spare.capacity() == 0) spare = std::move(events.front().chosen);
    events.erase(events.begin());
    if (out.what == engine_event::kind::loaded || out.what == engine_event::kind::layers_ready)
      facts_then = out.facts;
    if (out.what == engine_event::kind::step_done) --under_way;
    if (out.what == engine_event::kind::step_failed) under_way = 0, failed = false;
    return true;
  }

  void read_adapter(adapter_id id, const std::string& folder) {
    const auto number = ++orders;
    {
      const std::scoped_lock lock(mutex);
      ordered_at[number] = time.now();
    }
    loader.add({.id = id, .number = number, .folder = folder, .only_read = true});
  }

  void load_adapter(adapter_id id, const std::string& folder) {
    const auto number = ++orders;
    {
      const std::scoped_lock lock(mutex);
      assert(id != base_model && !held.contains(id) && held.size() < options.adapter_slots);
      held[id] = number;
      ordered_at[number] = time.now();
    }
    loader.add({.id = id, .number = number, .folder = folder});
  }

  void unload_adapter(adapter_id id) {
    uint64_t number = 0;
    {
      const std::scoped_lock lock(mutex);
      if (const auto known = held.extract(id)) number = known.mapped();
      ordered_at.erase(number);
      std::erase_if(events, [&](const engine_event& e) {
        return e.adapter == id && e.what != engine_event::kind::adapter_read;
      });
      changes.push_back({.id = id, .packed = nullptr, .problem = {}});
    }
    loader.cancel(number);
    wake.notify_one();
  }

  // called by the loader's thread

  void arrived(adapter_loader::outcome o) {
    {
      const std::scoped_lock lock(mutex);
      if (!is_wanted(o) && !o.lost) return;
      changes.push_back(std::move(o));
    }
    wake.notify_one();
  }

  // on the device's thread

  /// Alternates between loading a layer and other work, so that a step of the first layers need not wait for
  /// the last. While a step is in flight it polls for its end and for another step to begin.
  void run() {
    pthread_setname_np(pthread_self(), "engine");
    if (!try_to(&worker::open)) return;
    std::vector<adapter_loader::outcome> now;
    std::unique_lock lock(mutex);
    while (true) {
      const auto has_work = [this] { return stopping || !steps.empty() || !changes.empty() || can_load(); };
      if (in_flight.empty()) wake.wait(lock, has_work);
      if (stopping) return;
      std::swap(now, changes);
      std::optional<ordered_step> next;
      if (!steps.empty()) {
        next = steps.front();
        steps.pop_front();
      }
      lock.unlock();
      try {
        for (auto& c : now) apply(c);
        now.clear();
        if (next) in_flight.begin(*model, *next, facts.layers, problem_with(*next), stopping);
        if (!in_flight.empty() && model->is_ready())
          finish();
        else
          std::this_thread::yield();
      } catch (const device_lost& e) {
        return report_lost(e.what());
      }
      if (in_flight.empty() && can_load() && !try_to(&worker::load_layer)) return;
      lock.lock();
    }
  }

  bool all_ready() const { return facts.layers_ready == facts.layers; }
  /// A layer can be read, or shared images have changed.
  bool can_load() const {
    if (all_ready()) return false;
    return !images || images->ready() > facts.layers_ready || images->failed();
  }

  /// Loads a part of the model. False: this failed, and the failure was reported.
  bool try_to(void (worker::*load)()) {
    engine_event e;
    try {
      (this->*load)();
      return true;
    } catch (const device_lost& lost) {
      report_lost(lost.what());
      return false;
    } catch (const model_error& problem) {
      e.problem = problem.what();
    } catch (const std::bad_alloc&) {
      e.problem = fmt::format("{}: the model does not fit into memory", options.folder.string());
      e.transient = true;
    } catch (const std::exception& problem) {
      e.problem = problem.what();
      e.transient = true;
    }
    e.what = engine_event::kind::unusable;
    report(std::move(e));
    return false;
  }

  void open() {
    files.emplace(options.folder);
    const auto& config = files->config();
    model = options.make(config);
    loader.open(config, [this](const adapter& read) { return model->pack(read); });
    facts = model->facts();
    facts.vocabulary = config.vocabulary;
    facts.max_positions = config.max_positions;
    facts.layers = files->layers();
    facts.end_of_text = config.eos;
    if (!options.images) return;
    files.reset();
    images = options.images();
    listener = images->listen([this] {
      { const std::scoped_lock lock(mutex); }  // else the device's thread could miss the change
      wake.notify_one();
    });
  }

  void load_layer() {
    const auto next = facts.layers_ready;
    if (images && images->ready() == next) throw model_error(images->problem());
    facts.weight_bytes += images ? model->adopt(next, images) : model->load(next, files->read(next));
    ++facts.layers_ready;
    if (all_ready()) files.reset();
    engine_event e;
    e.what = all_ready() ? engine_event::kind::loaded : engine_event::kind::layers_ready;
    e.facts = facts;
    report(std::move(e));
  }

  /// Applies a loader's outcome, or unloads an adapter.
  void apply(adapter_loader::outcome& c) {
    if (c.lost) throw device_lost(c.problem);
    engine_event e;
    e.problem = std::move(c.problem);
    e.adapter = c.id;
    e.from_disk = c.from_disk;
    if (c.only_read) {
      e.what = engine_event::kind::adapter_read;
    } else {
      remove(c.id);
      e.what = engine_event::kind::adapter_failed;
    }
    if (c.packed != nullptr) {
      try {
        model->load(c.id, c.packed);
        e.what = engine_event::kind::adapter_ready;
        e.bytes = c.packed->bytes();
        resident.emplace(c.id, std::move(c.packed));
      } catch (const device_lost&) {
        throw;
      } catch (const std::exception& problem) {
        e.problem = problem.what();
        loader.discard(std::move(c.packed));
      }
    }
    {
      const std::scoped_lock lock(mutex);
      if (!is_wanted(c)) return;
      e.took = time.now() - ordered_at.extract(c.order).mapped();
      if (e.what == engine_event::kind::adapter_failed) held.erase(c.id);
      events.push_back(std::move(e));
    }
    ready();
  }

  void remove(adapter_id id) {
    const auto old = resident.extract(id);
    if (!old) return;
    model->unload(id);
    loader.discard(std::move(old.mapped()));
  }

  /// Why a step cannot run; empty: it can.
  std::string problem_with(const ordered_step& s) const {
    for (const auto a : s.step->segment_adapters)
      if (a != base_model && !resident.contains(a))
        return fmt::format("a step needs adapter {}, which is not on the device", a.value);
    const uint32_t end = std::min(s.layers.end, facts.layers);
    return end <= facts.layers_ready
               ? std::string()
               : fmt::format("a step needs {} layers, of which {} are loaded", end, facts.layers_ready);
  }

  /// Waits for the oldest step in flight.
  void finish() {
    std::vector<chosen_token> room;
    {
      const std::scoped_lock lock(mutex);
      std::swap(room, spare);
    }
    in_flight.finish(*model, std::move(room), stopping);
  }

  void report_lost(const char* problem) {
    engine_event e;
    e.what = engine_event::kind::lost;
    e.problem = problem;
    report(std::move(e));
  }

  void report(engine_event e) {
    {
      const std::scoped_lock lock(mutex);
      if (e.what == engine_event::kind::step_failed) {  // steps started before the owner knows are lost, too
        failed = true;
        steps.clear();
      }
      events.push_back(std::move(e));
    }
    ready();
  }

  /// The adapter was ordered, and not unloaded since.
  bool is_wanted(const adapter_loader::outcome& o) const { return ordered_at.contains(o.order); }

  const clock& time;
  const std::function<void()> ready;
  const computing_options options;

  // used by the owner
  engine_facts facts_then;  // as of the last event polled
  uint32_t under_way = 0;
  uint64_t orders = 0;

  // used by the device's thread; once facts were reported, the owner may ask the model for its blocks
  engine_facts facts;
  std::optional<checkpoint> files;    // until all layers are loaded
  std::shared_ptr<image_set> images;  // null: the device reads the layers itself
  uint64_t listener = 0;              // of the images
  std::unique_ptr<step_model> model;
  std::unordered_map<adapter_id, std::shared_ptr<const packed_adapter>> resident;
  steps_in_flight in_flight;

  std::mutex mutex;  // guards the rest
  std::condition_variable wake;
  std::atomic<bool> stopping = false;             // also read without the mutex
  std::deque<ordered_step> steps;                 // to be begun
  bool failed = false;                            // a step has failed, and the owner has not polled this yet
  std::unordered_map<adapter_id, uint64_t> held;  // resident or loading: the order's number
  std::unordered_map<uint64_t, time_point> ordered_at;  // orders without an event yet
  std::vector<adapter_loader::outcome> changes;         // in their order; order number 0: to unload
  std::vector<engine_event> events;
  std::vector<chosen_token> spare;  // memory for the next step's tokens

  adapter_loader loader;  // calls `arrived`
  std::thread thread;     // last: it uses all members
};

computing_engine_device::computing_engine_device(const clock& c, std::function<void()> ready,
                                                 computing_options options)
    : worker_(std::make_unique<worker>(c, std::move(ready), std::move(options))) {}
computing_engine_device::~computing_engine_device() = default;

void computing_engine_device::start(const llm_step& step, std::span<const token_sampling> samplings,
                                    const layer_range& layers) {
  worker_->start(step, samplings, layers);
}
kv_cache_memory computing_engine_device::kv_memory() { return worker_->model->kv_memory(); }
bool computing_engine_device::poll(time_point, engine_event& out) { return worker_->poll(out); }
void computing_engine_device::read_adapter(adapter_id id, const std::string& folder) {
  worker_->read_adapter(id, folder);
}
void computing_engine_device::load_adapter(adapter_id id, const std::string& folder) {
  worker_->load_adapter(id, folder);
}
void computing_engine_device::unload_adapter(adapter_id id) { worker_->unload_adapter(id); }
void computing_engine_device::stop() { worker_->stop(); }

}  // namespace troupe::llm
