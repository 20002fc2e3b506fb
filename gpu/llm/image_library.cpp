#include "gpu/llm/image_library.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <system_error>
#include <utility>

namespace troupe::llm {
namespace {

/// Names the files of a checkpoint as they are now.
std::string key_of(const std::filesystem::path& folder, element weights) {
  std::error_code failed;
  auto key = fmt::format("{} {}", std::filesystem::weakly_canonical(folder, failed).string(),
                         static_cast<int>(weights));
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(folder, failed)) {
    const auto type = file.path().extension();
    if (type != ".safetensors" && type != ".json") continue;
    files.push_back(fmt::format(" {} {} {}", file.path().filename().string(), file.file_size(failed),
                                file.last_write_time(failed).time_since_epoch().count()));
  }
  std::sort(files.begin(), files.end());
  for (const auto& f : files) key += f;
  return key;
}

/// A file may have its numbers at any byte; kernels read whole numbers.
bool is_aligned(const layer_view& layer) {
  return std::all_of(layer.parameters.begin(), layer.parameters.end(), [](const layer_view::named& p) {
    return reinterpret_cast<uintptr_t>(p.weight.bytes.data()) % element_bytes(p.weight.type) == 0;
  });
}

/// Writes the chunks of the layer that is loading, on all threads, up to the first that cannot be written.
void write_chunks(image_set& images, const layer_content& content) {
  const auto first = images.chunks_ready();
  const auto& chunks = images.chunks();
  auto end = first;
  while (end < chunks.size() && chunks[end].layer == chunks[first].layer) ++end;
  std::atomic<bool> over{false};
  std::exception_ptr thrown;  // none may leave the parallel loop
  const auto attempt = [&](const auto& step) {
    try {
      if (!over) step();
    } catch (...) {
      if (!over.exchange(true)) thrown = std::current_exception();
    }
  };
#pragma omp parallel for schedule(dynamic) ordered
  for (auto c = first; c < end; ++c) {
    uint64_t hash = 0;
    attempt([&] {
      if (!images.make_present(c)) return over.store(true);
      image_part part(images.chunk_memory(c), chunks[c].offset);
      content.write(part);
      hash = part.finish();
    });
#pragma omp ordered
    attempt([&] { images.finish_chunk(hash); });
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace

image_library::~image_library() {
  for (auto& l : loading_) l.thread.request_stop();
}

std::shared_ptr<image_set> image_library::open(const std::filesystem::path& folder, element weights,
                                               int threads) {
  auto key = key_of(folder, weights);
  const std::scoped_lock lock(mutex_);
  if (auto images = find_by(key)) return images;
  checkpoint files(folder);
  auto images = add(std::move(key), files, weights, usual_chunk_bytes);
  begin_loading(std::move(files), image_reader(images), threads);
  return images;
}

std::shared_ptr<image_set> image_library::create(const std::filesystem::path& folder, element weights,
                                                 uint64_t chunk_bytes) {
  auto key = key_of(folder, weights);
  const std::scoped_lock lock(mutex_);
  return add(std::move(key), checkpoint(folder), weights, chunk_bytes);
}

void image_library::read(const std::filesystem::path& folder, std::shared_ptr<image_set> images,
                         int threads) {
  const std::scoped_lock lock(mutex_);
  begin_loading(checkpoint(folder), image_reader(std::move(images)), threads);
}

void image_library::use(image_allocator allocate) {
  const std::scoped_lock lock(mutex_);
  allocate_ = std::move(allocate);
}

std::shared_ptr<image_set> image_library::find_by(const std::string& key) {
  loading_.remove_if([](const loading& l) { return l.ended.load(); });
  std::erase_if(entries_, [](const entry& e) { return e.images.expired(); });
  for (const auto& e : entries_)
    if (e.key == key)
      if (auto images = e.images.lock(); images && !images->failed()) return images;
  return nullptr;
}

std::shared_ptr<image_set> image_library::add(std::string key, const checkpoint& files, element weights,
                                              uint64_t chunk_bytes) {
  const image_format format{weights, files.view(0).find("embed_tokens.weight")->type, layout_};
  auto images =
      std::make_shared<image_set>(image_bytes(files.config(), format), format, allocate_, chunk_bytes);
  entries_.push_back({std::move(key), images});
  return images;
}

void image_library::begin_loading(checkpoint files, image_reader images, int threads) {
  auto& job = loading_.emplace_back();
  auto begin = [this, &job, to = std::move(images), threads,
                f = std::move(files)](std::stop_token stop) mutable {
    load(std::move(stop), std::move(f), std::move(to), threads);
    job.ended = true;
  };
  try {
    job.thread = std::jthread(std::move(begin));
  } catch (...) {
    loading_.pop_back();
    throw;
  }
}

void image_library::load(std::stop_token stop, checkpoint files, image_reader images, int threads) {
  pthread_setname_np(pthread_self(), "loader");
  if (begin_thread_) begin_thread_();
  omp_set_num_threads(std::max(1, threads));
  try {
    const auto format = images->format();
    const layer_images layout(files.config(), format);
    while (!images->complete() && !images->failed()) {
      if (stop.stop_requested() || abandoned(images)) return;
      const auto layer = images->ready();
      if (const auto mapped = files.view(layer); is_aligned(mapped)) {
        write_chunks(*images, layout.content(layer, mapped));
      } else {
        const auto copied = files.read(layer);
        write_chunks(*images, layout.content(layer, copied.views()));
      }
    }
  } catch (const std::exception& e) {
    images->fail(e.what());
  }
}

/// Under the lock, so that `open` finds them before or not at all.
bool image_library::abandoned(image_reader& images) {
  const std::scoped_lock lock(mutex_);
  return images.abandoned();
}

}  // namespace troupe::llm
