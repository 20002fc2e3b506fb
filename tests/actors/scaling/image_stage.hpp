// Tiny images of language models, in chunks of a few bytes whose content is known.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpu/common/fast_hash.hpp"
#include "gpu/llm/image_reader.hpp"
#include "gpu/llm/image_store.hpp"
#include "tests/actors/stage.hpp"

namespace troupe::test {

inline constexpr node_id first_source{4}, second_source{5};
inline constexpr uint64_t tiny_chunk_bytes = 4;
inline constexpr std::array<uint64_t, 3> tiny_layer_bytes{10, 7, 12};
inline constexpr uint32_t tiny_chunks = 8;  // three, two and three by layer

/// A byte of everybody's images.
constexpr std::byte image_pattern(uint64_t at) { return static_cast<std::byte>(at * 7 + at / 64 + 1); }

/// Bytes of a chunk.
inline std::vector<std::byte> pattern_of(const llm::image_set& images, uint32_t chunk) {
  std::vector<std::byte> out;
  for (uint64_t i = 0; i < images.chunks()[chunk].bytes; ++i)
    out.push_back(image_pattern(images.offset_of(chunk) + i));
  return out;
}
inline uint64_t hash_of(const llm::image_set& images, uint32_t chunk) {
  return fast_hash(pattern_of(images, chunk));
}
/// As their writer.
inline void write_next_chunk(llm::image_set& images) {
  const auto next = images.chunks_ready();
  std::ranges::copy(pattern_of(images, next), images.chunk_memory(next).begin());
  images.finish_chunk(hash_of(images, next));
}
inline void write_all_chunks(llm::image_set& images) {
  while (!images.complete()) write_next_chunk(images);
}

/// Images at offsets of an arena. Reads are only noted.
class tiny_image_store final : public llm::image_store {
 public:
  std::shared_ptr<llm::image_set> find(weights_id model) override {
    auto images = images_[model].lock();
    return images && !images->failed() ? images : nullptr;
  }
  std::shared_ptr<llm::image_set> create(weights_id model, uint64_t bytes) override {
    REQUIRE((are_model_files(model) || find(model) == nullptr));
    if (full) throw std::bad_alloc();
    if (!problem.empty()) throw std::runtime_error(problem);
    const auto files = std::array{bytes};
    const auto layers = are_model_files(model) ? std::span<const uint64_t>(files) : layer_bytes;
    auto images = std::make_shared<llm::image_set>(layers, llm::image_format{}, allocator(), chunk_bytes);
    images_[model] = images;
    created_.push_back(images);
    return images;
  }
  void read(weights_id, std::shared_ptr<llm::image_set> images) override {
    if (!problem.empty()) throw std::runtime_error(problem);
    reads.emplace_back(std::move(images));
  }
  uint64_t bytes(weights_id model) const override { return are_model_files(model) ? bytes_on_disk : 192; }
  uint64_t capacity() const override { return 1000; }
  /// Images of the next `find` are others; the former ones live as long as their users.
  void forget(weights_id model) { images_.erase(model); }

  /// Images at this offset of the arena are in memory.
  bool is_there(uint64_t offset) {
    std::erase_if(created_, [](const auto& c) { return c.expired(); });
    return std::ranges::any_of(created_, [&](const auto& c) {
      const auto images = c.lock();
      return images->offset() && offset >= *images->offset() && offset < *images->offset() + images->bytes();
    });
  }

  void locate(weights_id, const std::string& path) override { located.push_back(path); }

  std::span<const uint64_t> layer_bytes = tiny_layer_bytes;  ///< of language models
  uint64_t chunk_bytes = tiny_chunk_bytes;
  std::vector<std::string> located;
  uint64_t bytes_on_disk = 0;  ///< of files of tensor models
  bool full = false, in_arena = true, machine_has_memory = true;
  std::string problem;
  std::vector<llm::image_reader> reads;

 private:
  llm::image_allocator allocator() {
    return [this](uint64_t bytes) {
      auto memory = llm::heap_image_memory(bytes);
      if (in_arena) memory.offset = next_offset_ += 1000 + bytes;
      memory.make_present = [this](std::span<std::byte>) { return machine_has_memory; };
      return memory;
    };
  }
  std::map<weights_id, std::weak_ptr<llm::image_set>> images_;
  std::vector<std::weak_ptr<llm::image_set>> created_;
  uint64_t next_offset_ = 0;
};

}  // namespace troupe::test
