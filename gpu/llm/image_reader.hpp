// The loader that reads images from disk.
#pragma once
#include <memory>
#include <mutex>
#include <utility>

#include "gpu/llm/image_set.hpp"
#include "gpu/llm/kept_images.hpp"

namespace troupe::llm {

/// As long as it exists, the images are `being_read`, and it is their writer.
class image_reader {
 public:
  /// Requires: they have no writer.
  explicit image_reader(std::shared_ptr<image_set> images) : images_(std::move(images)) {
    const std::scoped_lock lock(images_->mutex_);
    images_->being_read_ = true;
  }
  ~image_reader() {
    if (!images_) return;
    const std::scoped_lock lock(images_->mutex_);
    images_->being_read_ = false;
  }
  image_reader(image_reader&&) noexcept = default;
  image_reader& operator=(image_reader&&) noexcept = default;

  const std::shared_ptr<image_set>& get() const { return images_.get(); }
  image_set& operator*() const { return *images_; }
  image_set* operator->() const { return images_.operator->(); }

  /// If nobody uses the images, gives them up: there are none afterwards. A user that comes later finds them
  /// not `being_read`.
  bool abandoned() {
    {
      const std::scoped_lock lock(images_->mutex_);
      if (images_.used()) return false;
      images_->being_read_ = false;
    }
    images_.reset();
    return true;
  }

 private:
  kept_images images_;
};

}  // namespace troupe::llm
