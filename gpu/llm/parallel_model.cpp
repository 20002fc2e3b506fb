#include "gpu/llm/parallel_model.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "gpu/common/device_lost.hpp"

namespace troupe::llm {

/// A tensor-parallel rank with its model. Rank 0 has no thread: its work runs in the caller's.
class parallel_model::rank {
 public:
  rank(const model_config& whole, uint32_t number, uint32_t ranks) : shard(whole, number, ranks) {
    if (number > 0) thread_ = std::thread([this] { loop(); });
  }
  ~rank() {
    begin([this] { model.reset(); });
    if (!thread_.joinable()) return;
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  void begin(std::function<void()> work) {
    if (!thread_.joinable()) return work();
    {
      const std::scoped_lock lock(mutex_);
      work_ = std::move(work);
    }
    wake_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return !work_; });
  }

  const tensor_shard shard;
  std::unique_ptr<step_model> model;
  activation x;  // for steps of some layers only
  std::vector<chosen_token> chosen;

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stopping_ || work_; });
      if (!work_) return;
      lock.unlock();
      work_();
      lock.lock();
      work_ = nullptr;
      done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::function<void()> work_;  // empty when it is done
  bool stopping_ = false;
  std::thread thread_;
};

namespace {

struct packed_shards final : packed_adapter {
  uint64_t bytes() const override {
    uint64_t sum = 0;
    for (const auto& s : shards) sum += s->bytes();
    return sum;
  }
  std::vector<std::shared_ptr<const packed_adapter>> shards;  // by rank
};

}  // namespace

/// Calls work(number, rank) for all ranks at once, on their threads. Rethrows the first exception when all
/// have ended; `on_failure` is called as soon as it is thrown.
template <class Work>
void parallel_model::on_all(const Work& work, const std::function<void()>& on_failure) {
  std::mutex mutex;
  std::exception_ptr failure;
  for (size_t i = ranks_.size(); i-- > 0;) {  // the caller's own comes last
    ranks_[i]->begin([&, i] {
      try {
        work(static_cast<uint32_t>(i), *ranks_[i]);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (failure) return;
        failure = std::current_exception();
        if (on_failure) on_failure();
      }
    });
  }
  for (const auto& r : ranks_) r->wait();
  if (failure) std::rethrow_exception(failure);
}

parallel_model::parallel_model(const model_config& whole, uint32_t ranks, const maker& make,
                               std::function<void()> abort_ranks)
    : abort_ranks_(std::move(abort_ranks)) {
  for (uint32_t i = 0; i < ranks; ++i) ranks_.push_back(std::make_unique<rank>(whole, i, ranks));
  on_all([&](uint32_t i, rank& r) { r.model = make(r.shard.config(), i); });
}

parallel_model::~parallel_model() = default;

engine_facts parallel_model::facts() const {
  engine_facts all = ranks_[0]->model->facts();
  all.block_bytes *= ranks_.size();
  return all;
}

uint64_t parallel_model::load(uint32_t layer, const layer_parameters& parameters) {
  std::atomic<uint64_t> bytes = 0;
  on_all([&](uint32_t, rank& r) { bytes += r.model->load(layer, r.shard.of(parameters)); });
  return bytes;
}

std::shared_ptr<const packed_adapter> parallel_model::pack(const adapter& read) {
  auto all = std::make_shared<packed_shards>();
  for (const auto& r : ranks_) all->shards.push_back(r->model->pack(r->shard.of(read)));
  return all;
}

/// If one rank fails, all have failed, for good.
template <class Work>
void parallel_model::on_all_or_none(const Work& work) {
  if (aborted_) throw device_lost("one device of this tensor-parallel model has failed");
  const auto abort = [this] {
    aborted_ = true;
    abort_ranks_();
  };
  try {
    on_all(work, abort);
  } catch (const std::exception& e) {
    throw device_lost(e.what());
  }
}

void parallel_model::load(adapter_id id, std::shared_ptr<const packed_adapter> adapter) {
  const auto& shards = static_cast<const packed_shards&>(*adapter).shards;
  on_all_or_none([&](uint32_t i, rank& r) { r.model->load(id, shards[i]); });
}

void parallel_model::unload(adapter_id id) {
  on_all([&](uint32_t, rank& r) { r.model->unload(id); });
}

void parallel_model::begin(const llm_step& step, std::span<const token_sampling> samplings, uint32_t first,
                           uint32_t end, activation* x) {
  on_all_or_none([&](uint32_t i, rank& r) {
    if (i > 0 && x != nullptr) r.x = *x;
    r.model->begin(step, samplings, first, end, i == 0 || x == nullptr ? x : &r.x);
  });
}

bool parallel_model::is_ready() { return aborted_ || ranks_[0]->model->is_ready(); }

bool parallel_model::finish(std::vector<chosen_token>& chosen, const std::atomic<bool>&) {
  // Steps are not stopped early, as all ranks would have to stop at the same layer.
  static const std::atomic<bool> never = false;
  on_all_or_none([&](uint32_t i, rank& r) { r.model->finish(i == 0 ? chosen : r.chosen, never); });
  return true;
}

}  // namespace troupe::llm
