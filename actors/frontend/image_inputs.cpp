#include "actors/frontend/image_inputs.hpp"

#include "transport/image/decode.hpp"

namespace troupe {
namespace {

/// Calls `f(image_input, index of its input)`. A worker with another file may have another signature, into
/// which images do not fit.
template <class F>
void each_image_input(const catalog::entry& model, F f) {
  for (const auto& x : model.images)
    if (image_input_problem(x, model.signature).empty()) f(x, *index_of(x, model.signature));
}

}  // namespace

model_signature signature_for_clients(const catalog::entry& model) {
  auto s = model.signature;
  each_image_input(model, [&](const image_input&, size_t i) {
    s.inputs[i].type = data_type::bytes;
    s.inputs[i].shape.clear();
  });
  return s;
}

image_inputs::image_inputs(const catalog::entry& model) : tensors_(model.signature.inputs.size()) {
  each_image_input(model, [&](const image_input& x, size_t i) {
    tensors_[i] = std::make_unique<image_tensor>(x, model.signature.inputs[i].type);
  });
}

bool image_inputs::takes(size_t input) const { return input < tensors_.size() && tensors_[input] != nullptr; }

bool image_inputs::is_file(std::string_view body) const { return is_image_file(body); }

std::string image_inputs::write(size_t input, std::string_view file, std::span<std::byte> row) const {
  if (time_ != nullptr && time_->now() > deadline_) {
    late_ = true;
    return "was not decoded by the deadline";
  }
  try {
    tensors_[input]->write(std::as_bytes(std::span(file)), row);
    return {};
  } catch (const image_error& problem) {
    return problem.what();
  }
}

}  // namespace troupe
