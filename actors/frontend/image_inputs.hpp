// Inputs of a model that clients may send as image files.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "actors/tensor/catalog.hpp"
#include "transport/image/image_tensor.hpp"
#include "transport/kserve/v2.hpp"

namespace troupe {

/// The signature as clients see it: inputs of images are BYTES, with a file in each row.
model_signature signature_for_clients(const catalog::entry& model);

/// Those of one request. `model`, whose shapes are known, outlives it.
class image_inputs final : public file_inputs {
 public:
  explicit image_inputs(const catalog::entry& model);
  /// No file is decoded after `deadline`. `time` outlives this.
  void stop_at(const clock& time, time_point deadline) { time_ = &time, deadline_ = deadline; }
  /// A file was not decoded because it was too late.
  bool late() const { return late_; }
  bool takes(size_t input) const override;
  bool is_file(std::string_view body) const override;
  /// Throws std::bad_alloc.
  std::string write(size_t input, std::string_view file, std::span<std::byte> row) const override;

 private:
  std::vector<std::unique_ptr<image_tensor>> tensors_;  // by input; null: takes no images
  const clock* time_ = nullptr;
  time_point deadline_ = never;
  mutable bool late_ = false;
};

}  // namespace troupe
