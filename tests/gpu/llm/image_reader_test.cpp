#include "gpu/llm/image_reader.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <utility>

using namespace troupe::llm;

namespace {

std::shared_ptr<image_set> some_images() {
  return std::make_shared<image_set>(std::array<uint64_t, 2>{64, 64}, image_format{});
}

}  // namespace

TEST_CASE("image reader: images without a user are given up, but stay with those that keep them") {
  auto images = some_images();
  CHECK_FALSE(images->being_read());
  image_reader reader(images);
  const kept_images kept(images);
  CHECK(images->being_read());
  CHECK_FALSE(reader.abandoned());
  images.reset();
  CHECK(reader.abandoned());
  CHECK_FALSE(kept->being_read());
  CHECK_FALSE(kept.used());
}

TEST_CASE("image reader: images are being read as long as it exists, wherever it is moved") {
  const auto images = some_images();
  {
    image_reader reader(images);
    auto next = std::move(reader);
    CHECK(images->being_read());
    CHECK(&*next == images.get());
  }
  CHECK_FALSE(images->being_read());
}
