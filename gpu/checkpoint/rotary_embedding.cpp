#include "gpu/checkpoint/rotary_embedding.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <string_view>

#include "gpu/checkpoint/shown_name.hpp"

namespace troupe::llm {

namespace {

constexpr double largest_factor = 1e6;
constexpr uint64_t max_original_context = uint64_t{1} << 31;
constexpr const char* original_key = "original_max_position_embeddings";

/// In single precision, step by step as in training: positions multiply the rounding errors.
std::vector<float> unscaled(double theta, uint32_t rotated) {
  std::vector<float> out(rotated / 2);
  for (size_t i = 0; i < out.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(rotated);
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

/// The width of the rotated part of each head.
uint32_t read_rotated(const json_object& place, uint32_t otherwise, const rotary_limits& limits) {
  constexpr const char* key = "partial_rotary_factor";
  if (place.lacks(key)) return otherwise;
  const double part = place.number(key, 0, 1);
  if (part != 1 && !limits.partial) place.fail(key, "must be 1: partial rotation is not supported");
  const auto rotated = static_cast<uint32_t>(limits.head_dim * part);
  if (rotated < 2 || rotated % 2 != 0)
    place.fail(key, fmt::format("gives {} rotated numbers of a head of {}: they must be even and at least 2",
                                rotated, limits.head_dim));
  return rotated;
}

/// [count] Divisors of the frequencies.
std::vector<float> read_divisors(const json_object& rope, const char* key, size_t count) {
  constexpr double lowest = 0.01;
  const auto& values = rope.at(key);
  if (!values.is_array() || values.size() != count)
    rope.fail(key, fmt::format("must be a list of {} numbers, one for each frequency", count));
  std::vector<float> out;
  for (const auto& v : values) {
    const double d = v.is_number() ? v.get<double>() : 0;
    if (!(d >= lowest && d <= largest_factor))
      rope.refuse(key, v, fmt::format("a number from {} to {}", lowest, largest_factor));
    out.push_back(static_cast<float>(d));
  }
  return out;
}

/// LongRoPE (Ding et al. 2024): each frequency has a divisor of its own, one for short and one for long
/// sequences. Attention is scaled for the extension of the context.
void scale_longrope(const json_object& config, const json_object& rope, const rotary_limits& limits,
                    rotary_embedding& r) {
  const auto inside = rope.integer(original_key, 1, max_original_context, limits.longrope_context);
  const auto original = config.integer(original_key, 1, max_original_context, inside);
  const auto extension = static_cast<double>(limits.max_positions) / static_cast<double>(original);
  const double factor = rope.number("factor", 1e-3, largest_factor, extension);
  const double otherwise =
      factor <= 1 || original == 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original));
  r.scale = static_cast<float>(rope.number("attention_factor", 1e-3, largest_factor, otherwise));
  const size_t count = r.frequencies.size();
  const auto of_short = read_divisors(rope, "short_factor", count),
             of_long = read_divisors(rope, "long_factor", count);
  r.long_frequencies = r.frequencies;
  r.short_positions = static_cast<uint32_t>(original);
  for (size_t i = 0; i < count; ++i) {
    r.frequencies[i] /= of_short[i];
    r.long_frequencies[i] /= of_long[i];
  }
}

std::string_view kind_of(const json_object& rope, const rotary_limits& limits) {
  const auto* key = rope.lacks("rope_type") ? "type" : "rope_type";
  const auto kind = rope.text(key, "default");
  for (const std::string_view known : {"default", "linear", "llama3"})
    if (kind == known) return known;
  // su and yarn: as early configurations call it, and Transformers still reads it
  if (limits.longrope_context > 0 && (kind == "longrope" || kind == "su" || kind == "yarn"))
    return "longrope";
  rope.fail(key, fmt::format("is {}: only {} are supported", shown_name(kind),
                             limits.longrope_context > 0 ? "default, linear, llama3 and longrope"
                                                         : "default, linear and llama3"));
}

}  // namespace

rotary_embedding unscaled_rotary_embedding(double theta, uint32_t rotated) {
  return {.frequencies = unscaled(theta, rotated), .long_frequencies = {}};
}

rotary_embedding read_rotary_embedding(const json_object& config, const json_object& rope,
                                       const rotary_limits& limits) {
  const double theta = rope.number("rope_theta", lowest_theta, highest_theta, limits.theta);
  const uint32_t outside = read_rotated(config, limits.head_dim, limits);
  auto r = unscaled_rotary_embedding(theta, read_rotated(rope, outside, limits));
  const auto kind = kind_of(rope, limits);
  for (const auto& [name, value] : rope.items().items()) {
    if (value.is_object())
      rope.fail(name, "is an object: rotary embeddings that differ by layer are not supported");
  }
  if (kind == "linear") {
    const auto factor = static_cast<float>(rope.number("factor", 1, largest_factor));
    for (float& f : r.frequencies) f /= factor;
  }
  if (kind == "llama3") {
    // the key outside takes precedence, as in Transformers
    const auto inside = rope.integer(original_key, 1, max_original_context, limits.max_positions);
    scale_llama3(r.frequencies, rope,
                 static_cast<double>(config.integer(original_key, 1, max_original_context, inside)));
  }
  if (kind == "longrope") scale_longrope(config, rope, limits, r);
  return r;
}

rotary_embedding read_rotary_embedding(const json_object& config, rotary_limits limits) {
  auto rope = config.object("rope_scaling");
  if (!rope) rope = config.object("rope_parameters");
  limits.theta = config.number("rope_theta", lowest_theta, highest_theta, limits.theta);
  if (rope) return read_rotary_embedding(config, *rope, limits);
  return unscaled_rotary_embedding(limits.theta, read_rotated(config, limits.head_dim, limits));
}

}  // namespace troupe::llm
