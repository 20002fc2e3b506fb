// `preprocess` of a [[model]].
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "config/sections.hpp"

namespace troupe {
namespace {

constexpr double max_side = 16384, max_magnitude = 1e9;
constexpr int64_t max_max_pixels = 1 << 30;

/// Height and width, or one number: by its key the shorter side or a square.
std::vector<uint32_t> read_size(section& s, const char* key) {
  const auto before = s.owner().problem_count();
  std::vector<double> given;
  const bool several = s.has_array(key);
  if (several)
    given = s.numbers(key, "pixels", 1, max_side);
  else if (s.has(key))
    given = {s.number(key, "pixels", 1, max_side)};
  else
    s.unused(key);
  std::vector<uint32_t> out;
  for (const auto x : given) {
    if (x != std::floor(x)) s.refuse(key, "has a number of pixels that is not whole");
    out.push_back(static_cast<uint32_t>(x));
  }
  if (several && out.size() != 2 && s.owner().problem_count() == before)
    s.refuse(key, "must be [height, width] or one number of pixels");
  return out;
}

/// A number for each channel; one is for all.
std::vector<double> read_by_channel(section& s, const char* key, double min, size_t channels) {
  if (!s.has(key)) {
    s.unused(key);
    return {};
  }
  if (!s.has_array(key))
    return std::vector(channels, s.number(key, "a number, or one for each channel,", min, max_magnitude));
  const auto before = s.owner().problem_count();
  auto out = s.numbers(key, "numbers", min, max_magnitude);
  if (out.size() != channels && s.owner().problem_count() == before)
    s.refuse(key, fmt::format("must be one number, or {}: one for each channel", channels));
  return out;
}

void check_sizes(section& s, const image_input& x) {
  if (x.crop.empty() && x.resize.size() != 2)
    return s.refuse("crop",
                    "is missing: images have many sizes, and the model's input has one; give crop = [height, "
                    "width], or resize = [height, width]");
  if (x.crop.size() != 2 || x.resize.empty()) return;
  if (x.resize.front() < x.crop[0] || x.resize.back() < x.crop[1])
    s.refuse("crop", "is larger than the images after resize");
}

image_input read_image_input(section& s) {
  static constexpr std::array<std::string_view, 1> decoders{"image"};
  static constexpr std::array<std::string_view, image_channels_count> channels{"RGB", "BGR", "L"};
  static constexpr std::array<std::string_view, image_layout_count> layouts{"NCHW", "NHWC"};
  const auto before = s.owner().problem_count();
  image_input x;
  s.choice("decode", decoders);
  x.input = s.text("input", "");
  x.resize = read_size(s, "resize");
  x.crop = read_size(s, "crop");
  if (x.crop.size() == 1) x.crop.push_back(x.crop.front());
  x.filter = static_cast<image_filter>(s.choice("filter", image_filter_names, 0));
  x.channels = static_cast<image_channels>(s.choice("channels", channels, 0));
  x.layout = static_cast<image_layout>(s.choice("layout", layouts, 0));
  x.scale = s.number("scale", "a number", 1 / max_magnitude, max_magnitude, default_image_scale);
  x.mean = read_by_channel(s, "mean", -max_magnitude, count_of(x.channels));
  x.deviation = read_by_channel(s, "std", 1 / max_magnitude, count_of(x.channels));
  x.max_pixels = static_cast<uint64_t>(s.integer("max_pixels", 1, max_max_pixels, default_max_pixels));
  if (s.owner().problem_count() == before) check_sizes(s, x);
  return x;
}

}  // namespace

void read_preprocess(section& s, model_spec& m, std::string_view emulated_on) {
  if (m.path.empty()) return s.unused("preprocess", "only a model with a source has one");
  auto* given = s.table("preprocess");
  if (given == nullptr) return;
  m.images = {read_image_input(*given)};
  if (!emulated_on.empty())
    given->refuse(
        fmt::format("is for models that run, and node '{}' has an emulated device; remove one", emulated_on));
  else if (!m.batched)
    given->refuse("makes the rows of a batch, and this model has batching = \"none\"; remove one");
}

}  // namespace troupe
