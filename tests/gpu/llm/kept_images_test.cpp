#include "gpu/llm/kept_images.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <utility>

using namespace troupe::llm;

namespace {

std::shared_ptr<image_set> images_to_keep() {
  return std::make_shared<image_set>(std::array<uint64_t, 2>{64, 64}, image_format{});
}

}  // namespace

TEST_CASE("kept images: they stay in memory, and are used while somebody else has them") {
  auto images = images_to_keep();
  const std::weak_ptr<image_set> there = images;
  kept_images one(images), other(images);
  CHECK(one.used());
  images.reset();
  CHECK_FALSE(one.used());
  CHECK(one->layers() == 2);
  auto moved = std::move(other);
  CHECK_FALSE(other);
  CHECK_FALSE(moved.used());
  images = moved.get();
  CHECK(one.used());
  images.reset();
  one.reset();
  CHECK_FALSE(moved.used());
  moved = kept_images();
  CHECK(there.expired());
}
