#include "transport/image/image_tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <utility>
#include <vector>

#include "transport/image/decode.hpp"
#include "transport/image/geometry.hpp"
#include "transport/image/resample.hpp"

namespace troupe {
namespace {

bool normalises(const image_input& input) {
  return !input.mean.empty() || !input.deviation.empty() ||
         (input.scale != default_image_scale && input.scale != 1);
}

std::vector<int64_t> shape_of(const image_input& input) {
  const auto [height, width] = final_size(input);
  const auto channels = count_of(input.channels);
  if (input.layout == image_layout::nchw) return {channels, height, width};
  return {height, width, channels};
}

/// Places `value(channel, 8-bit value)` in the layout of a tensor.
template <class T, class Value>
void write_values(const image& from, const image_input& input, std::byte* out, Value value) {
  const size_t channels = count_of(input.channels), pixels = size_t{from.width} * from.height;
  const bool planes = input.layout == image_layout::nchw;
  for (size_t c = 0; c < channels; ++c) {
    const auto source = input.channels == image_channels::bgr ? channels - 1 - c : c;
    const auto* in = from.pixels.get() + (from.channels == 1 ? 0 : source);
    auto* to = out + (planes ? c * pixels : c) * sizeof(T);
    const size_t step = (planes ? 1 : channels) * sizeof(T);
    for (size_t i = 0; i < pixels; ++i, in += from.channels, to += step) {
      const T v = value(c, *in);
      std::memcpy(to, &v, sizeof(T));
    }
  }
}

}  // namespace

std::optional<size_t> index_of(const image_input& input, const model_signature& signature) {
  if (input.input.empty()) return signature.inputs.size() == 1 ? std::optional<size_t>(0) : std::nullopt;
  for (size_t i = 0; i < signature.inputs.size(); ++i)
    if (signature.inputs[i].name == input.input) return i;
  return {};
}

std::string image_input_problem(const image_input& input, const model_signature& signature) {
  const auto index = index_of(input, signature);
  if (!index) {
    std::vector<std::string> names;
    for (const auto& t : signature.inputs) names.push_back(fmt::format("'{}'", t.name));
    const auto known = fmt::format("the model takes {}", fmt::join(names, ", "));
    return input.input.empty() ? fmt::format("preprocess needs input = NAME: {}", known)
                               : fmt::format("preprocess.input = '{}' is no input: {}", input.input, known);
  }
  const auto& t = signature.inputs[*index];
  if (t.type == data_type::uint8 && normalises(input))
    return fmt::format("input '{}' is UINT8, which preprocess gives without scale, mean and std; remove them",
                       t.name);
  if (t.type != data_type::fp32 && t.type != data_type::uint8)
    return fmt::format("input '{}' is {}, and preprocess gives FP32 or UINT8", t.name, to_string(t.type));
  const auto shape = shape_of(input);
  if (t.shape == shape) return {};
  return fmt::format(
      "preprocess gives rows of shape [{}], and input '{}' has the shape [{}]; change crop, resize, channels "
      "or "
      "layout",
      fmt::join(shape, ","), t.name, fmt::join(t.shape, ","));
}

image_tensor::image_tensor(image_input input, data_type type) : input_(std::move(input)), type_(type) {
  for (size_t c = 0; c < count_of(input_.channels); ++c) {
    const auto mean = input_.mean.empty() ? 0.0 : input_.mean[c];
    const auto deviation = input_.deviation.empty() ? 1.0 : input_.deviation[c];
    for (int v = 0; v < 256; ++v)
      normalised_[c][static_cast<size_t>(v)] = static_cast<float>((v * input_.scale - mean) / deviation);
  }
}

uint64_t image_tensor::row_bytes() const {
  const auto [height, width] = final_size(input_);
  return uint64_t{height} * width * count_of(input_.channels) * size_of(type_);
}

void image_tensor::write(std::span<const std::byte> file, std::span<std::byte> row) const {
  auto decoded = decode_image(file, input_.max_pixels);
  if (input_.channels == image_channels::l) to_luminance(decoded);
  const auto ready = resample(decoded, window_of(input_, decoded.width, decoded.height), input_.filter);
  if (type_ == data_type::uint8)
    write_values<uint8_t>(ready, input_, row.data(), [](size_t, uint8_t v) { return v; });
  else
    write_values<float>(ready, input_, row.data(), [&](size_t c, uint8_t v) { return normalised_[c][v]; });
}

}  // namespace troupe
