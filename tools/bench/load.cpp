#include "tools/bench/load.hpp"

#include <fmt/core.h>

#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "gpu/llm/image_library.hpp"
#include "messages/common/time.hpp"
#include "tools/bench/perftest.hpp"
#include "tools/bench/row.hpp"
#include "tools/common/element_name.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {
namespace {

/// Returns when all images are ready. Throws model_error if they cannot be.
void wait_until_complete(llm::image_set& images) {
  std::mutex mutex;
  std::condition_variable changed;
  const auto listener = images.listen([&] {
    const std::scoped_lock lock(mutex);
    changed.notify_one();
  });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return images.complete() || images.failed(); });
  }
  images.forget(listener);
  if (images.failed()) throw model_error(images.problem());
}

class load_bench {
 public:
  load_bench(const bench_load_options& o, const clock& time)
      : options_(o), type_(element_called(o.type).value_or(element::f32)), clock_(time) {}

  std::vector<bench_row> run() {
    load();  // the files come into the page cache
    from_ = aligned_bytes(bytes_), to_ = aligned_bytes(bytes_);
    std::memset(from_.data(), 1, bytes_);
    copy();
    std::vector<double> loads, copies;
    for (int i = 0; i < options_.repetitions; ++i) {
      loads.push_back(load());
      copies.push_back(copy());
    }
    return {{"load, one thread",
             median(std::move(loads)),
             "GB/s",
             median(std::move(copies)),
             {{"bytes", bytes_}}}};
  }

 private:
  /// GB/s of images. Their memory is given as that of a node's arena: present from the first load on.
  double load() {
    llm::image_library library([&](uint64_t bytes) -> llm::image_memory {
      if (arena_ == nullptr || arena_->size() < bytes) arena_ = std::make_shared<aligned_bytes>(bytes);
      return {{arena_->data(), bytes}, std::nullopt, arena_};
    });
    const auto began = clock_.now();
    const auto images = library.open(options_.model, type_, 1);
    wait_until_complete(*images);
    const auto s = to_seconds(clock_.now() - began);
    bytes_ = images->bytes();
    return static_cast<double>(bytes_) / s / 1e9;
  }
  double copy() {
    const auto began = clock_.now();
    std::memcpy(to_.data(), from_.data(), bytes_);
    return static_cast<double>(bytes_) / to_seconds(clock_.now() - began) / 1e9;
  }

  const bench_load_options& options_;
  const element type_;
  const clock& clock_;
  uint64_t bytes_ = 0;
  std::shared_ptr<aligned_bytes> arena_;
  aligned_bytes from_, to_;
};

}  // namespace

int bench_load(const bench_load_options& options) {
  const machine_clock time;
  std::vector<bench_row> rows;
  try {
    rows = load_bench(options, time).run();
  } catch (const model_error& e) {
    report("bench load: {}", e.what());
    return exit_bad_input;
  } catch (const std::bad_alloc&) {
    report("bench load: three times the images of {} do not fit into memory", options.model);
    return exit_bad_input;
  }
  if (options.json) {
    fmt::print("{}\n", nlohmann::json{{"rows", rows_json(rows)}}.dump(2));
    return exit_done;
  }
  for (const auto& r : rows)
    fmt::print("{} as {}: {} of {:.0f} MB at {:.2f} {}; memcpy {:.2f} {}, ratio {:.2f}\n", options.model,
               options.type, r.name, static_cast<double>(r.more["bytes"].get<uint64_t>()) / 1e6, r.value,
               r.unit, *r.reference, r.unit, r.ratio());
  return exit_done;
}

}  // namespace troupe
