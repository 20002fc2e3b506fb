// Images that stay in memory for somebody without a use of their own: a writer, or peers whose pulls have not
// ended.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>

#include "gpu/llm/image_set.hpp"

namespace troupe::llm {

/// A shared_ptr that does not count as a use.
class kept_images {
 public:
  kept_images() = default;
  explicit kept_images(std::shared_ptr<image_set> what) : what_(std::move(what)) {
    if (what_) ++what_->keepers_;
  }
  ~kept_images() {
    if (what_) --what_->keepers_;  // before the pointer, so that none counts as a use too few
  }
  kept_images(kept_images&&) noexcept = default;
  kept_images& operator=(kept_images&& other) noexcept {
    std::swap(what_, other.what_);
    return *this;
  }

  const std::shared_ptr<image_set>& get() const { return what_; }
  explicit operator bool() const { return what_ != nullptr; }
  image_set& operator*() const { return *what_; }
  image_set* operator->() const { return what_.get(); }
  void reset() { *this = kept_images(); }

  /// They are of use to somebody: a holder of the model's images, or an engine. Requires: there are any.
  bool used() const { return what_.use_count() > what_->keepers_; }

 private:
  std::shared_ptr<image_set> what_;
};

}  // namespace troupe::llm
