#include "gpu/llm/adapter_loader.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/common/device_lost.hpp"
#include "gpu/llm/adapter_store.hpp"

namespace troupe::llm {

struct adapter_loader::worker {
  worker(uint64_t bytes, std::function<void(outcome)> when_done)
      : store_bytes(bytes), done(std::move(when_done)), thread([this] { loop(); }) {}

  ~worker() {
    stop();
    thread.join();
  }

  void stop() {
    {
      const std::scoped_lock lock(mutex);
      stopping = true;
    }
    wake.notify_one();
  }

  void loop() {
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [this] { return stopping || !discarded.empty() || can_begin(); });
      if (stopping) return;
      auto gone = std::exchange(discarded, {});
      std::optional<order> next;
      if (can_begin()) next = take();
      lock.unlock();
      gone.clear();
      if (next) done(carry_out(*next));
      lock.lock();
    }
  }

  bool can_begin() const { return store && !(packs.empty() && reads.empty()); }

  /// Alternates between orders that only read and orders that pack.
  order take() {
    auto& from = packs.empty() || (read_is_next && !reads.empty()) ? reads : packs;
    read_is_next = &from == &packs;
    auto next = std::move(from.front());
    from.pop_front();
    return next;
  }

  outcome carry_out(const order& o) {
    outcome out{.id = o.id, .order = o.number, .only_read = o.only_read, .packed = nullptr, .problem = {}};
    try {
      const auto [read, from_disk] = store->get(o.folder);
      out.from_disk = from_disk;
      if (!o.only_read) out.packed = pack(*read);
    } catch (const std::bad_alloc&) {
      out.problem = fmt::format("{}: the adapter does not fit into memory", o.folder);
    } catch (const device_lost& e) {
      out.lost = true;
      out.problem = e.what();
    } catch (const std::exception& e) {
      out.problem = e.what();
    }
    return out;
  }

  const uint64_t store_bytes;
  const std::function<void(outcome)> done;
  // written once, by `open`; then used by the loader's thread only
  std::optional<adapter_store> store;
  adapter_packer pack;

  std::mutex mutex;  // guards the rest
  std::condition_variable wake;
  std::deque<order> packs, reads;
  bool read_is_next = false;
  std::vector<std::shared_ptr<const packed_adapter>> discarded;
  bool stopping = false;
  std::thread thread;
};

adapter_loader::adapter_loader(uint64_t store_bytes, std::function<void(outcome)> done)
    : worker_(std::make_unique<worker>(store_bytes, std::move(done))) {}
adapter_loader::~adapter_loader() = default;

void adapter_loader::open(const model_config& model, adapter_packer pack) {
  {
    const std::scoped_lock lock(worker_->mutex);
    worker_->store.emplace(model, worker_->store_bytes);
    worker_->pack = std::move(pack);
  }
  worker_->wake.notify_one();
}

void adapter_loader::add(order o) {
  {
    const std::scoped_lock lock(worker_->mutex);
    (o.only_read ? worker_->reads : worker_->packs).push_back(std::move(o));
  }
  worker_->wake.notify_one();
}

void adapter_loader::cancel(uint64_t number) {
  const std::scoped_lock lock(worker_->mutex);
  for (auto* orders : {&worker_->packs, &worker_->reads})
    std::erase_if(*orders, [&](const order& o) { return o.number == number; });
}

void adapter_loader::discard(std::shared_ptr<const packed_adapter> adapter) {
  {
    const std::scoped_lock lock(worker_->mutex);
    worker_->discarded.push_back(std::move(adapter));
  }
  worker_->wake.notify_one();
}

void adapter_loader::stop() { worker_->stop(); }

}  // namespace troupe::llm
