#include "gpu/llm/image_library.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <pthread.h>

#include <algorithm>
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
      if (auto images = e.images.lock()) return images;

  checkpoint files(folder);
  const image_format format{weights, files.view(0).find("embed_tokens.weight")->type};
  auto images = std::make_shared<image_set>(files.config(), format);
  entries_.push_back({key, images});
  auto& job = loading_.emplace_back();
  job.thread =
      std::jthread([this, &job, images, threads, f = std::move(files)](std::stop_token stop) mutable {
        load(std::move(stop), std::move(f), std::move(images), threads);
        job.ended = true;
      });
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
      layout.write(l, files.view(l), images->memory(l));
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
