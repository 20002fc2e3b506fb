// Engines on emulated GPUs that get their weights from images, while these arrive.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "gpu/common/fast_hash.hpp"
#include "gpu/llm/cuda/cuda_decoder.hpp"
#include "gpu/llm/image_library.hpp"
#include "tests/gpu/kernels/cuda/emulated_machine.hpp"
#include "tests/gpu/llm/llama_tasks.hpp"
#include "tests/gpu/llm/small_engine.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::cuda;
using llm::image_set;
using kind = llm::engine_event::kind;

namespace {

constexpr size_t staging_bytes = 1000;

/// Without images it reads the checkpoint, and copies each layer at once.
llm::computing_options emulated_gpu_with(std::shared_ptr<image_set> images,
                                         const std::filesystem::path& folder = llm::llama / "base") {
  llm::computing_options out;
  out.folder = folder;
  const size_t staging = images ? staging_bytes : 4 << 20;
  out.make = [staging](const llm::model_config& config) -> std::unique_ptr<llm::step_model> {
    return std::make_unique<cuda_decoder<emulated_machine, element::bf16>>(
        std::make_unique<emulated_machine>(3), config,
        cuda_decoder_options{.kv_bytes = 1 << 20, .block_tokens = 4, .staging_bytes = staging});
  };
  if (images) out.images = [images] { return images; };
  return out;
}

constexpr llm::image_format gpu_format{element::bf16, element::bf16, llm::image_layout::row_major};

std::shared_ptr<image_set> empty_images(uint64_t chunk_bytes = llm::usual_chunk_bytes) {
  const llm::checkpoint files(llm::llama / "base");
  return std::make_shared<image_set>(llm::image_bytes(files.config(), gpu_format), gpu_format,
                                     llm::heap_image_memory, chunk_bytes);
}

std::shared_ptr<image_set> whole_images() {
  const llm::checkpoint files(llm::llama / "base");
  const llm::layer_images layout(files.config(), gpu_format);
  auto images = empty_images();
  for (uint32_t l = 0; l < images->layers(); ++l) {
    layout.write(l, files.view(l), images->memory(l));
    images->finish_layer();
  }
  return images;
}

/// Writes the next chunk, as a chain does.
void pull_chunk(const image_set& from, image_set& to) {
  const auto c = to.chunks_ready();
  const auto& chunk = to.chunks()[c];
  const auto bytes = from.image(chunk.layer).subspan(chunk.offset, chunk.bytes);
  std::ranges::copy(bytes, to.chunk_memory(c).begin());
  to.finish_chunk(fast_hash(bytes));
}

std::vector<std::pair<llm::token, uint32_t>> bits_of_step(llm::waited_device& d) {
  const auto step = llm::one_row_step(265, 0);
  d->start(step, llm::one_sampling);
  return llm::bits_of(d.next().chosen);
}

std::vector<std::pair<llm::token, uint32_t>> bits_by_checkpoint() {
  llm::waited_device d(emulated_gpu_with(nullptr));
  REQUIRE(d.next().what == kind::loaded);
  return bits_of_step(d);
}

/// Memory of devices and pinned memory that was taken since it was made.
struct memory_taken {
  size_t device = emulated_machine::memory::taken, host = emulated_machine::host_memory::taken;
  size_t on_device() const { return emulated_machine::memory::taken - device; }
  size_t pinned() const { return emulated_machine::host_memory::taken - host; }
};

}  // namespace

TEST_CASE("cuda decoder: layers run as their images arrive chunk by chunk, with the bits of the checkpoint") {
  const auto expected = bits_by_checkpoint();
  REQUIRE(expected.size() == 1);
  const auto from = whole_images(), images = empty_images(1000);
  const auto step = llm::one_row_step(265, 0);
  llm::waited_device d(emulated_gpu_with(images));
  llm::activation x;
  llm::engine_event e;
  uint64_t bytes = 0;
  for (uint32_t l = 0; l < images->layers(); ++l) {
    const bool last = l + 1 == images->layers();
    while (images->ready() == l) {
      CHECK(d.quiet(e));
      pull_chunk(*from, *images);
    }
    bytes += images->image(l).size();
    e = d.next_of_all();
    CHECK(e.what == (last ? kind::loaded : kind::layers_ready));
    CHECK(e.facts.layers_ready == l + 1);
    CHECK(e.facts.weight_bytes == bytes);
    d->start(step, last ? llm::one_sampling : std::span<const llm::token_sampling>(),
             {.first = l, .end = l + 1, .x = &x});
    e = d.next_of_all();
    REQUIRE(e.what == kind::step_done);
  }
  CHECK(llm::bits_of(e.chosen) == expected);
}

TEST_CASE("cuda decoder: a second engine on the same images reads no weights, and computes the same bits") {
  const temporary_folder copy;
  std::filesystem::copy(llm::llama / "base", copy.path, std::filesystem::copy_options::recursive);
  const auto expected = bits_by_checkpoint();
  llm::image_library library(llm::heap_image_memory, {}, llm::image_layout::row_major);
  const auto images = library.open(copy.path, element::bf16, 1);
  llm::waited_device first(emulated_gpu_with(images, copy.path));
  REQUIRE(first.next().what == kind::loaded);
  {
    std::fstream weights(copy / "model.safetensors", std::ios::binary | std::ios::in | std::ios::out);
    uint64_t header = 0;
    weights.read(reinterpret_cast<char*>(&header), sizeof header);
    const std::vector<char> zeros(std::filesystem::file_size(copy / "model.safetensors") - 8 - header);
    weights.seekp(static_cast<std::streamoff>(8 + header));
    weights.write(zeros.data(), static_cast<std::streamsize>(zeros.size()));
    REQUIRE(weights.good());
  }
  llm::waited_device second(emulated_gpu_with(images, copy.path));
  REQUIRE(second.next().what == kind::loaded);
  CHECK(bits_of_step(first) == expected);
  CHECK(bits_of_step(second) == expected);
  llm::waited_device other(emulated_gpu_with(nullptr, copy.path));
  REQUIRE(other.next().what == kind::loaded);
  CHECK(bits_of_step(other) != expected);
}

TEST_CASE("cuda decoder: images that fail make the device unusable, with the reason") {
  const auto from = whole_images(), images = empty_images(1000);
  llm::waited_device d(emulated_gpu_with(images));
  while (images->ready() < 2) pull_chunk(*from, *images);
  pull_chunk(*from, *images);
  images->fail("the source is gone");
  const auto e = d.next();
  CHECK(e.what == kind::unusable);
  CHECK(e.problem == "the source is gone");
}

TEST_CASE("cuda decoder: memory comes back when an engine is unloaded, also while its weights arrive") {
  const auto from = whole_images();
  const memory_taken taken;
  for (const uint32_t layers : {0U, 1U, from->layers() / 2, from->layers()}) {
    CAPTURE(layers);
    const auto images = empty_images(1000);
    {
      llm::waited_device d(emulated_gpu_with(images));
      while (images->ready() < layers) pull_chunk(*from, *images);
      for (uint32_t l = 0; l < layers; ++l) CHECK(d.next_of_all().facts.layers_ready == l + 1);
      if (layers > 0) CHECK(taken.on_device() > images->image(0).size());
      CHECK((taken.pinned() >= 2 * staging_bytes) == (layers > 0 && layers < images->layers()));
      if (layers < images->layers()) pull_chunk(*from, *images);
    }
    CHECK(taken.on_device() == 0);
    CHECK(taken.pinned() == 0);
    CHECK(images.use_count() == 1);
  }
}

TEST_CASE("cuda decoder: an engine ends while it takes layers that are ready") {
  const auto images = whole_images();
  const memory_taken taken;
  for (int i = 0; i < 10; ++i) {
    llm::waited_device d(emulated_gpu_with(images));
    if (i % 2 == 1) d.next_of_all();
  }
  CHECK(taken.on_device() == 0);
  CHECK(taken.pinned() == 0);
  CHECK(images.use_count() == 1);
}
