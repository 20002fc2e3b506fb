#include "gpu/llm/image_library.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <cstdint>
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

}  // namespace

image_library::~image_library() {
  for (auto& l : loading_) l.thread.request_stop();
}

std::shared_ptr<image_set> image_library::open(const std::filesystem::path& folder, element weights,
                                               int threads) {
  const auto key = key_of(folder, weights);
  const std::scoped_lock lock(mutex_);
  loading_.remove_if([](const loading& l) { return l.ended.load(); });
  std::erase_if(entries_, [](const entry& e) { return e.images.expired(); });
  for (const auto& e : entries_)
    if (e.key == key)
      if (auto images = e.images.lock(); images && !images->failed()) return images;

  checkpoint files(folder);
  const image_format format{weights, files.view(0).find("embed_tokens.weight")->type};
  auto images = std::make_shared<image_set>(files.config(), format);
  entries_.push_back({key, images});
  auto& job = loading_.emplace_back();
  auto begin = [this, &job, images, threads, f = std::move(files)](std::stop_token stop) mutable {
    load(std::move(stop), std::move(f), std::move(images), threads);
    job.ended = true;
  };
  try {
    job.thread = std::jthread(std::move(begin));
  } catch (...) {
    loading_.pop_back();
    throw;
  }
  return images;
}

void image_library::load(std::stop_token stop, checkpoint files, std::shared_ptr<image_set> images,
                         int threads) {
  pthread_setname_np(pthread_self(), "loader");
  omp_set_num_threads(std::max(1, threads));
  try {
    const auto format = images->format();
    const layer_images layout(files.config(), format);
    for (uint32_t l = 0; l < images->layers(); ++l) {
      if (stop.stop_requested() || abandoned(images)) return;
      if (const auto mapped = files.view(l); is_aligned(mapped))
        layout.write(l, mapped, images->memory(l));
      else
        layout.write(l, files.read(l).views(), images->memory(l));
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
