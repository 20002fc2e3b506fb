#include "tools/node/file_images.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <thread>

#include "gpu/common/fast_hash.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/device/engine_choice.hpp"
#include "tools/node/disk_files.hpp"

using namespace troupe;
namespace fs = std::filesystem;

namespace {

constexpr auto some_files = weights_of(model_id{3});
constexpr uint64_t chunk_bytes = 1000;  // no multiple of anything
const std::string mlp = TROUPE_FIXTURES "/onnx/mlp.onnx";
const std::string encoder = TROUPE_FIXTURES "/encoders/mpnet";

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void wait_for(const llm::image_set& images) {
  while (!images.complete() && !images.failed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// The images of a node that reads them from its disk.
struct node_with_disk {
  explicit node_with_disk(const fs::path& source) {
    files.use(llm::heap_image_memory, chunk_bytes);
    files.locate(some_files, source);
    images = files.create(some_files, files.bytes(some_files));
  }
  void read() {
    files.read(some_files, images);
    wait_for(*images);
  }
  file_images files;
  std::shared_ptr<llm::image_set> images;
};

/// As a chain link does.
void pull(const llm::image_set& from, llm::image_set& to, uint32_t end) {
  REQUIRE(from.bytes() == to.bytes());
  const auto all = from.image(0);
  for (auto c = to.chunks_ready(); c < end; ++c) {
    const auto part = all.subspan(from.offset_of(c), from.chunks()[c].bytes);
    std::ranges::copy(part, to.chunk_memory(c).begin());
    to.finish_chunk(from.hash(c));
  }
}

struct temporary_copy {
  explicit temporary_copy(const fs::path& of) {
    std::string name = fs::temp_directory_path() / "troupe-file-images-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder = name;
    file = folder / of.filename();
    fs::copy(of, file, fs::copy_options::recursive);
  }
  ~temporary_copy() { fs::remove_all(folder); }
  fs::path folder, file;
};

}  // namespace

TEST_CASE("file images: an ONNX file and an encoder's folder arrive byte for byte, and loaders open them") {
  for (const auto& source : {mlp, encoder}) {
    CAPTURE(source);
    node_with_disk first(source);
    first.read();
    REQUIRE(first.images->complete());
    CHECK(first.files.received(some_files) == nullptr);  // its own disk has them
    file_images second;
    second.use(llm::heap_image_memory, chunk_bytes);
    second.locate(some_files, "/nowhere/m.onnx");
    CHECK(second.bytes(some_files) == 0);
    const auto images = second.create(some_files, first.images->bytes());
    CHECK(second.find(some_files) == images);
    CHECK(second.received(some_files) == nullptr);
    pull(*first.images, *images, static_cast<uint32_t>(images->chunks().size()));
    fs::path place;
    {
      const auto folder = second.received(some_files);
      REQUIRE(folder != nullptr);
      place = folder->opened();
      const auto list = list_model_files(source);
      const auto there = fs::is_directory(source) ? place : place.parent_path();
      const auto here = fs::is_directory(source) ? fs::path(source) : fs::path(source).parent_path();
      CHECK(fs::is_directory(source) == list.opened.empty());
      for (const auto& f : list.files) CHECK(content_of(there / f.name) == content_of(here / f.name));
      model_source s;
      s.path = place;
      if (fs::is_directory(source)) s.shapes = {{"input_ids", {16}}};
      CHECK(choose_engine(s) == model_engine::native);
    }
    CHECK_FALSE(fs::exists(place));
    CHECK(second.received(some_files)->opened() == place);  // so that loaded models are shared
  }
}

TEST_CASE("file images: what a peer gave is completed from the disk, if that has the same files") {
  const temporary_copy copy(mlp);
  node_with_disk first(mlp), second(copy.file);
  first.read();
  pull(*first.images, *second.images, 2);
  SUBCASE("the same") {
    second.read();
    CHECK(second.images->complete());
    CHECK(std::ranges::equal(second.images->image(0), first.images->image(0)));
    for (uint32_t c = 0; c < first.images->chunks().size(); ++c)
      CHECK(second.images->hash(c) == first.images->hash(c));
    CHECK(second.files.received(some_files) != nullptr);
  }
  SUBCASE("others of the same size") {
    auto content = content_of(copy.file);
    content[10] ^= 1;
    std::ofstream(copy.file, std::ios::binary) << content;
    second.read();
    CHECK(second.images->failed());
    CHECK(second.images->problem().find("copy the same files to all") != std::string::npos);
    CHECK(second.files.find(some_files) == nullptr);
  }
  SUBCASE("others of another size") {
    std::ofstream(copy.file, std::ios::app) << std::string(200, 'x');
    second.read();
    CHECK(second.images->failed());
  }
}

TEST_CASE("file images: a mixture of files is refused when it is to be loaded") {
  node_with_disk first(mlp);
  first.read();
  file_images second;
  second.use(llm::heap_image_memory, chunk_bytes);
  const auto images = second.create(some_files, first.images->bytes());
  pull(*first.images, *images, 1);
  const auto other = images->chunk_memory(1);
  std::ranges::fill(other, std::byte{1});
  images->finish_chunk(fast_hash(other));
  pull(*first.images, *images, static_cast<uint32_t>(images->chunks().size()));
  CHECK(images->complete());
  CHECK_THROWS_AS(second.received(some_files), model_error);
}

TEST_CASE(
    "file images: folders that ended processes have left are removed, and those of living ones are not") {
  node_with_disk first(mlp);
  first.read();
  file_images second;
  second.use(llm::heap_image_memory, chunk_bytes);
  const auto images = second.create(some_files, first.images->bytes());
  pull(*first.images, *images, static_cast<uint32_t>(images->chunks().size()));
  const auto folder = second.received(some_files);
  const auto left = memory_folder::parent() / "troupe-files-0123456789abcdef-test";
  fs::create_directories(left / "below");
  file_images third;
  third.use(llm::heap_image_memory, chunk_bytes);
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::exists(folder->opened()));
}

TEST_CASE("file images: without files or room there is one clear reason") {
  node_with_disk first(mlp);
  file_images second;
  second.use([](uint64_t) -> llm::image_memory { throw std::bad_alloc(); }, chunk_bytes);
  second.locate(some_files, "/nowhere/m.onnx");
  CHECK_THROWS_AS(second.create(some_files, 640), std::bad_alloc);
  try {
    second.create(some_files, 0);
    FAIL("created");
  } catch (const model_error& e) {
    CHECK(std::string(e.what()).find("/nowhere/m.onnx: no node has the files in memory") == 0);
  }
  CHECK_THROWS_AS(list_model_files("/nowhere/m.onnx"), model_error);
  const temporary_copy copy(mlp);
  node_with_disk third(copy.file);
  fs::remove(copy.file);
  third.read();
  CHECK(third.images->failed());
}
