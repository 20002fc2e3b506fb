#include "gpu/checkpoint/rope_frequencies.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "gpu/checkpoint/shown_name.hpp"

namespace troupe::llm {

namespace {

constexpr double largest_factor = 1e6;

/// In single precision, step by step as in training: positions multiply the rounding errors.
std::vector<float> unscaled(double theta, uint32_t head_dim) {
  std::vector<float> out(head_dim / 2);
  for (size_t i = 0; i < out.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
    out[i] = 1.0F / std::pow(static_cast<float>(theta), exponent);
  }
  return out;
}

/// Divides low frequencies by `factor`, keeps high ones, and interpolates between.
void scale_llama3(std::vector<float>& frequencies, const json_object& rope, double original_positions) {
  const double factor = rope.number("factor", 1, largest_factor);
  const double low = rope.number("low_freq_factor", 1e-3, largest_factor);
  const double high = rope.number("high_freq_factor", 1e-3, largest_factor);
  if (!(high > low)) rope.fail("high_freq_factor", "must be above 'low_freq_factor'");
  const auto positions = static_cast<float>(original_positions);
  const auto longest = static_cast<float>(original_positions / low);
  const auto shortest = static_cast<float>(original_positions / high);
  const auto f = static_cast<float>(factor);
  for (float& frequency : frequencies) {
    const float wave = static_cast<float>(2 * std::numbers::pi) / frequency;
    if (wave < shortest) continue;
    if (wave > longest) {
      frequency /= f;
      continue;
    }
    const float smooth = (positions / wave - static_cast<float>(low)) / static_cast<float>(high - low);
    frequency = (1 - smooth) * frequency / f + smooth * frequency;
  }
}

}  // namespace

std::vector<float> read_rope_frequencies(const json_object& config, uint32_t head_dim,
                                         uint32_t max_positions) {
  auto rope = config.object("rope_scaling");
  if (!rope) rope = config.object("rope_parameters");
  constexpr double lowest_theta = 1, highest_theta = 1e12;
  double theta = config.number("rope_theta", lowest_theta, highest_theta, 10000);
  const double part = config.number("partial_rotary_factor", 0, 1, 1);
  if (part != 1) config.fail("partial_rotary_factor", "must be 1: partial rotation is not supported");
  if (!rope) return unscaled(theta, head_dim);

  theta = rope->number("rope_theta", lowest_theta, highest_theta, theta);
  if (rope->number("partial_rotary_factor", 0, 1, 1) != 1) {
    rope->fail("partial_rotary_factor", "must be 1: partial rotation is not supported");
  }
  const auto* key = rope->lacks("rope_type") ? "type" : "rope_type";
  const auto kind = rope->text(key, "default");
  if (kind != "default" && kind != "linear" && kind != "llama3") {
    rope->fail(key, fmt::format("is {}: only default, linear and llama3 are supported", shown_name(kind)));
  }
  for (const auto& [name, value] : rope->items().items()) {
    if (value.is_object())
      rope->fail(name, "is an object: rotary embeddings that differ by layer are not supported");
  }
  auto frequencies = unscaled(theta, head_dim);
  if (kind == "linear") {
    const auto factor = static_cast<float>(rope->number("factor", 1, largest_factor));
    for (float& f : frequencies) f /= factor;
  }
  if (kind == "llama3") {
    constexpr const char* original = "original_max_position_embeddings";
    constexpr uint64_t max = uint64_t{1} << 31;
    // takes precedence over `rope_scaling`, as in Transformers
    const auto inside = rope->integer(original, 1, max, max_positions);
    scale_llama3(frequencies, *rope, static_cast<double>(config.integer(original, 1, max, inside)));
  }
  return frequencies;
}

}  // namespace troupe::llm
