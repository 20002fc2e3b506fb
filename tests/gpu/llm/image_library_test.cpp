#include "gpu/llm/image_library.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <latch>
#include <mutex>
#include <thread>
#include <utility>

#include "gpu/common/fast_hash.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/llm/row_major_image.hpp"
#include "tests/gpu/llm/llama_tasks.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

const auto small_model = fixtures / "random-llms" / "qwen3";

/// Waits until all layers are ready, or loading has failed.
void wait_for(image_set& images) {
  std::mutex mutex;
  std::condition_variable changed;
  const auto listener = images.listen([&] {
    { const std::scoped_lock lock(mutex); }
    changed.notify_one();
  });
  std::unique_lock lock(mutex);
  changed.wait_for(lock, std::chrono::seconds(20),
                   [&] { return images.ready() == images.layers() || images.failed(); });
  lock.unlock();
  images.forget(listener);
}

}  // namespace

TEST_CASE("image library: a checkpoint becomes images, with their hashes") {
  image_library library;
  const auto images = library.open(small_model, element::bf16, 1);
  wait_for(*images);
  REQUIRE(images->ready() == images->layers());
  const checkpoint files(small_model);
  const layer_images layout(files.config(), images->format());
  for (uint32_t l = 0; l < images->layers(); ++l) {
    aligned_bytes expected(layout.bytes(l));
    layout.write(l, files.view(l), {expected.data(), expected.size()});
    CHECK(std::ranges::equal(images->image(l), expected.span()));
    CHECK(images->hash(l) == fast_hash(expected.span()));  // a chunk a layer
  }
}

TEST_CASE("image library: users of a checkpoint share its images, for each type of weights") {
  image_library library;
  const auto one = library.open(small_model, element::f32, 1),
             other = library.open(small_model, element::f32, 2);
  CHECK(one == other);
  CHECK(library.open(small_model / ".", element::f32, 1) == one);
  CHECK(library.open(small_model, element::bf16, 1) != one);
  CHECK(library.open(fixtures / "random-llms" / "gemma2", element::f32, 1) != one);
}

TEST_CASE("image library: images for GPUs are row-major, and others than those for CPUs") {
  image_library cpus, gpus(heap_image_memory, {}, image_layout::row_major);
  const auto packed = cpus.open(small_model, element::bf16, 1),
             images = gpus.open(small_model, element::bf16, 1);
  wait_for(*images);
  REQUIRE(images->complete());
  CHECK(packed->format().layout == image_layout::packed);
  CHECK(images->format().layout == image_layout::row_major);
  CHECK(images->bytes() != packed->bytes());
  const checkpoint files(small_model);
  for (uint32_t l = 0; l < images->layers(); ++l) {
    const row_major_image layout(parameters_of(files.config(), l), element::bf16);
    std::vector<std::byte> expected(layout.bytes());
    layout.content(files.view(l)).write(expected);
    CHECK(std::ranges::equal(images->image(l), expected));
  }
}

TEST_CASE("image library: images without users are loaded again") {
  image_library library;
  std::weak_ptr<image_set> old;
  {
    const auto images = library.open(small_model, element::f32, 1);
    wait_for(*images);
    old = images;
  }
  for (int i = 0; i < 2000 && !old.expired(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(old.expired());
  const auto again = library.open(small_model, element::f32, 1);
  wait_for(*again);
  CHECK(again->ready() == again->layers());
}

TEST_CASE("image library: a folder whose files changed is another checkpoint") {
  const temporary_folder copy;
  std::filesystem::copy(small_model, copy.path, std::filesystem::copy_options::recursive);
  image_library library;
  const auto before = library.open(copy.path, element::f32, 1);
  wait_for(*before);
  std::filesystem::last_write_time(copy.path / "model.safetensors",
                                   std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  CHECK(library.open(copy.path, element::f32, 1) != before);
}

TEST_CASE("image library: a damaged checkpoint is refused with its file's name") {
  image_library library;
  const temporary_folder empty;
  CHECK_THROWS_AS(library.open(empty.path, element::f32, 1), model_error);
}

TEST_CASE("image library: its end does not wait for whole models") {
  for (int i = 0; i < 20; ++i) {
    image_library library;
    const auto images = library.open(fixtures / "llama-tasks/base", element::f32, 1);
    CHECK(images->layers() == 8);
  }
}

TEST_CASE("image set: a listener that was forgotten is not called") {
  const checkpoint files(small_model);
  const image_format format{element::f32, element::f32};
  image_set images(image_bytes(files.config(), format), format);
  int calls = 0, others = 0;
  const auto first = images.listen([&] { ++calls; });
  images.listen([&] { ++others; });
  images.finish_layer();
  images.forget(first);
  images.finish_layer();
  images.fail("the disk is gone");
  CHECK(calls == 1);
  CHECK(others == 3);
  CHECK(images.ready() == 2);
  CHECK(images.failed());
  CHECK(images.problem() == "the disk is gone");
}

TEST_CASE("image library: loading fails where the machine's memory ends") {
  image_library library;
  int left = 5;
  library.use([&](uint64_t bytes) {
    auto memory = heap_image_memory(bytes);
    memory.make_present = [&](std::span<std::byte>) { return left-- > 0; };
    return memory;
  });
  const auto images = library.create(small_model, element::f32, 1000);
  library.read(small_model, images, 1);
  wait_for(*images);
  CHECK(images->failed());
  CHECK(images->chunks_ready() <= 5);
  CHECK(images->problem().find("enlarge /dev/shm") != std::string::npos);
}

TEST_CASE("image library: images that a chain began are finished from the checkpoint") {
  image_library library;
  const auto whole = library.open(small_model, element::bf16, 1);
  wait_for(*whole);
  image_library other;
  constexpr uint64_t chunk_bytes = 1000;
  const auto begun = other.create(small_model, element::bf16, chunk_bytes);
  CHECK(other.open(small_model, element::bf16, 1) == begun);
  const auto bytes_of = [&](uint32_t chunk) {
    return whole->image(begun->chunks()[chunk].layer)
        .subspan(begun->chunks()[chunk].offset, begun->chunks()[chunk].bytes);
  };
  uint32_t c = 0;
  while (begun->ready() < 1 || begun->chunks()[c].offset == 0) {  // until the middle of a layer
    std::ranges::copy(bytes_of(c), begun->chunk_memory(c).begin());
    begun->finish_chunk(fast_hash(bytes_of(c)));
    ++c;
  }
  CHECK(begun->ready() == 1);
  CHECK(begun->chunks_ready() == c);
  other.read(small_model, begun, 3);
  wait_for(*begun);
  REQUIRE(begun->complete());
  for (uint32_t l = 0; l < begun->layers(); ++l) CHECK(std::ranges::equal(begun->image(l), whole->image(l)));
  for (uint32_t i = 0; i < begun->chunks().size(); ++i) CHECK(begun->hash(i) == fast_hash(bytes_of(i)));
}

TEST_CASE("image library: loading stops when images are only kept, and goes on when they are wanted again") {
  image_library library;
  std::latch begun(1), go_on(1);
  bool first = true;
  library.use([&](uint64_t bytes) {
    auto memory = heap_image_memory(bytes);
    memory.make_present = [&](std::span<std::byte>) {
      if (std::exchange(first, false)) begun.count_down(), go_on.wait();
      return true;
    };
    return memory;
  });
  auto images = library.create(small_model, element::f32, 1000);
  const kept_images kept(images);
  library.read(small_model, images, 1);
  begun.wait();
  images.reset();
  go_on.count_down();
  for (int i = 0; i < 4000 && kept->being_read(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK_FALSE(kept->being_read());
  CHECK(kept->ready() == 1);  // the layer that it was at
  images = kept.get();
  library.read(small_model, images, 1);
  wait_for(*images);
  CHECK(images->complete());
}
