#include "tools/node/file_images.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <array>
#include <exception>
#include <random>
#include <system_error>
#include <utility>

#include "gpu/common/model_error.hpp"
#include "tools/node/disk_files.hpp"
#include "transport/common/low_priority.hpp"

namespace troupe {
namespace {

constexpr std::string_view folder_prefix = "troupe-files-";

/// 0: they cannot be read.
uint64_t bytes_on_disk(const std::filesystem::path& source) {
  try {
    return disk_files(source).bytes();
  } catch (const model_error&) {
    return 0;
  }
}

}  // namespace

file_images::file_images()
    : unique_([] {
        std::random_device random;
        return uint64_t{random()} << 32 | random();
      }()) {}

file_images::~file_images() {
  for (auto& r : reading_) r.thread.request_stop();
  reading_.clear();  // waits for them
}

void file_images::use(llm::image_allocator allocate, uint64_t chunk_bytes) {
  memory_folder::remove_abandoned(folder_prefix);
  const std::scoped_lock lock(mutex_);
  allocate_ = std::move(allocate);
  chunk_bytes_ = chunk_bytes;
}

void file_images::locate(weights_id files, const std::filesystem::path& source) {
  const auto bytes = bytes_on_disk(source);
  const std::scoped_lock lock(mutex_);
  auto& k = known_[files];
  k.source = source;
  k.bytes = bytes;
}

uint64_t file_images::bytes(weights_id files) const {
  const std::scoped_lock lock(mutex_);
  const auto k = known_.find(files);
  return k == known_.end() ? 0 : k->second.bytes;
}

std::shared_ptr<llm::image_set> file_images::find(weights_id files) {
  const std::scoped_lock lock(mutex_);
  const auto k = known_.find(files);
  auto images = k == known_.end() ? nullptr : k->second.images.lock();
  return images && !images->failed() ? images : nullptr;
}

std::shared_ptr<llm::image_set> file_images::create(weights_id files, uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  auto& k = known_[files];
  if (bytes == 0)
    throw model_error(
        fmt::format("{}: no node has the files in memory, and this one cannot read them", k.source.string()));
  const std::array layers{bytes};
  auto images = std::make_shared<llm::image_set>(layers, llm::image_format{}, allocate_, chunk_bytes_);
  k.images = images;
  k.created = std::filesystem::file_time_type::clock::now();
  k.pulled = true;
  return images;
}

void file_images::read(weights_id files, std::shared_ptr<llm::image_set> images) {
  const std::scoped_lock lock(mutex_);
  auto& k = known_.at(files);
  k.pulled = images->chunks_ready() > 0;
  reading_.remove_if([](const reading& r) { return r.ended.load(); });
  auto& job = reading_.emplace_back();
  auto begin = [this, &job, source = k.source,
                to = llm::image_reader(std::move(images))](const std::stop_token& stop) mutable {
    fill(stop, source, std::move(to));
    job.ended = true;
  };
  try {
    job.thread = std::jthread(std::move(begin));
  } catch (...) {
    reading_.pop_back();
    throw;
  }
}

/// Until nobody uses the images.
void file_images::fill(const std::stop_token& stop, const std::filesystem::path& source,
                       llm::image_reader images) {
  pthread_setname_np(pthread_self(), "file_reader");
  lower_priority();
  try {
    disk_files from(source);
    if (from.bytes() != images->bytes())
      throw model_error(fmt::format("{}: has not the size that other nodes have: copy the same files to all",
                                    source.string()));
    while (!stop.stop_requested() && !images.abandoned() && from.read_next(*images)) {
    }
  } catch (const std::exception& e) {
    images->fail(e.what());
  }
}

std::unique_ptr<memory_folder> file_images::received(weights_id files) {
  const auto images = find(files);
  if (!images || !images->complete()) return nullptr;
  const std::scoped_lock lock(mutex_);
  const auto& k = known_.at(files);
  if (!k.pulled) return nullptr;
  const auto place =
      memory_folder::parent() / fmt::format("{}{:016x}-{}", folder_prefix, unique_, model_of(files).value);
  return std::make_unique<memory_folder>(unpack(images->image(0)), place, k.created);
}

}  // namespace troupe
