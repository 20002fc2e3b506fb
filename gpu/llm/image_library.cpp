#include "gpu/llm/image_library.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
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

/// Chunks that are ready may be read by peers at this time, so only the others are written.
void finish_begun_layer(image_set& images, uint32_t layer,
                        const std::function<void(uint32_t, std::span<std::byte>)>& write) {
  aligned_bytes whole(images.memory(layer).size());
  write(layer, {whole.data(), whole.size()});
  const auto& chunks = images.chunks();
  for (auto c = images.chunks_ready(); c < chunks.size() && chunks[c].layer == layer; ++c)
    std::memcpy(images.chunk_memory(c).data(), whole.data() + chunks[c].offset, chunks[c].bytes);
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
  begin_loading(std::move(files), images, threads);
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
  begin_loading(checkpoint(folder), std::move(images), threads);
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
  const image_format format{weights, files.view(0).find("embed_tokens.weight")->type};
  auto images =
      std::make_shared<image_set>(image_bytes(files.config(), format), format, allocate_, chunk_bytes);
  entries_.push_back({std::move(key), images});
  return images;
}

void image_library::begin_loading(checkpoint files, std::shared_ptr<image_set> images, int threads) {
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

void image_library::load(std::stop_token stop, checkpoint files, std::shared_ptr<image_set> images,
                         int threads) {
  pthread_setname_np(pthread_self(), "loader");
  if (begin_thread_) begin_thread_();
  omp_set_num_threads(std::max(1, threads));
  try {
    const auto format = images->format();
    const layer_images layout(files.config(), format);
    const auto write = [&](uint32_t l, std::span<std::byte> to) {
      if (const auto mapped = files.view(l); is_aligned(mapped))
        layout.write(l, mapped, to);
      else
        layout.write(l, files.read(l).views(), to);
    };
    while (images->ready() < images->layers()) {
      if (stop.stop_requested() || abandoned(images)) return;
      const auto l = images->ready();
      const auto& chunks = images->chunks();
      for (auto c = images->chunks_ready(); c < chunks.size() && chunks[c].layer == l; ++c)
        if (!images->make_present(c)) return;
      if (chunks[images->chunks_ready()].offset > 0)
        finish_begun_layer(*images, l, write);
      else
        write(l, images->memory(l));
      images->finish_layer();
    }
  } catch (const std::exception& e) {
    images->fail(e.what());
  }
}

bool image_library::abandoned(std::shared_ptr<image_set>& images) {
  const std::scoped_lock lock(mutex_);
  if (images.use_count() > 1) return false;
  images.reset();
  return true;
}

}  // namespace troupe::llm
