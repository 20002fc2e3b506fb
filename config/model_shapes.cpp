#include "config/model_shapes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace troupe {
namespace {

constexpr double max_dimension = INT32_MAX;
constexpr size_t max_shapes = 64;  // each has a queue, and a latency to measure
constexpr int64_t max_axis = 31;

std::vector<int64_t> read_dims(section& s, const std::string& name) {
  std::vector<int64_t> out;
  for (const auto d : s.numbers(name, "dimensions", 1, max_dimension)) {
    if (d != std::floor(d)) s.refuse(name, "has a dimension that is no whole number");
    out.push_back(static_cast<int64_t>(d));
  }
  return out;
}

model_shapes::alternative read_alternative(section& s) {
  model_shapes::alternative a;
  for (const auto& name : s.keys()) {
    a.inputs.push_back({name, read_dims(s, name)});
    a.name += fmt::format("{}{}", a.name.empty() ? "" : "_", fmt::join(a.inputs.back().dims, "x"));
  }
  return a;
}

std::vector<model_shapes::alternative> read_alternatives(section& s) {
  std::vector<model_shapes::alternative> out;
  if (!s.has("shapes") || s.has_table("shapes")) {
    auto* t = s.table("shapes");
    out.push_back(t == nullptr ? model_shapes::alternative{} : read_alternative(*t));
    return out;
  }
  for (auto* t : s.tables("shapes")) {
    out.push_back(read_alternative(*t));
    const auto before = std::span(out).first(out.size() - 1);
    if (!std::ranges::equal(out.back().inputs, out.front().inputs, {}, &input_shape::name,
                            &input_shape::name))
      s.refuse("shapes", "must give each shape for the same inputs");
    else if (out.back().name.empty())
      s.refuse("shapes", "has a shape of no input");
    else if (std::ranges::find(before, out.back().name, &model_shapes::alternative::name) != before.end())
      s.refuse("shapes", "has a shape twice; remove one");
  }
  if (out.empty()) out.emplace_back();  // a problem, reported
  if (out.size() > max_shapes)
    s.refuse("shapes", fmt::format("has {} shapes; {} is the maximum", out.size(), max_shapes));
  return out;
}

std::vector<uint32_t> read_lengths(section& pad) {
  std::vector<uint32_t> out;
  for (const auto n : pad.numbers("to", "lengths", 1, max_dimension)) {
    if (n != std::floor(n)) pad.refuse("to", "has a length that is no whole number");
    out.push_back(static_cast<uint32_t>(n));
  }
  std::ranges::sort(out);
  if (std::ranges::adjacent_find(out) != out.end()) pad.refuse("to", "has a length twice");
  if (out.size() < 2 || out.size() > max_shapes)
    pad.refuse("to", fmt::format("needs 2 to {} lengths; a model with one has `shapes` only", max_shapes));
  return out;
}

/// The row of an input with this length. Nothing if `axis` is none of its dimensions.
std::optional<input_shape> at_length(const std::string& input, const std::vector<input_shape>& shapes,
                                     size_t axis, uint32_t length) {
  const auto* said = find_input(shapes, input);
  auto dims = said != nullptr ? said->dims : std::vector<int64_t>(axis + 1, 1);
  if (axis >= dims.size() || (said == nullptr && axis > 0)) return {};
  dims[axis] = length;
  return input_shape{input, std::move(dims)};
}

/// `inputs`, or one `input` with its `value`.
std::vector<input_constant> read_padded_inputs(section& pad) {
  std::vector<input_constant> out;
  if (pad.has("input") && !pad.has("inputs")) {
    const auto name = pad.text("input");
    out.push_back({name, pad.number("value", "a number", -max_dimension, max_dimension, 0)});
    return out;
  }
  pad.unused("input", "\"inputs\" is given too; remove one of the two");
  pad.unused("value", "is for one `input`; `inputs` has a value for each");
  if (auto* t = pad.table("inputs"))
    for (const auto& name : t->keys())
      out.push_back({name, t->number(name, "a number", -max_dimension, max_dimension)});
  if (out.empty())
    pad.refuse("inputs",
               "is missing; it must be a table of the inputs to pad, each with the value to pad "
               "it with: { input_ids = 0, attention_mask = 0 }");
  return out;
}

void read_padding(section& pad, bool batched, model_shapes& out) {
  padding_spec p;
  const int64_t first = batched ? 1 : 0;
  p.axis = static_cast<uint32_t>(pad.integer("axis", first, max_axis));
  p.lengths = read_lengths(pad);
  p.inputs = read_padded_inputs(pad);
  const auto base = std::exchange(out.alternatives, {}).front();
  for (const auto length : p.lengths) {
    auto& a = out.alternatives.emplace_back();
    a.name = std::to_string(length);
    a.inputs = base.inputs;
    for (const auto& [name, value] : p.inputs) {
      auto row = at_length(name, base.inputs, p.axis - static_cast<uint32_t>(first), length);
      if (!row)
        return pad.refuse("axis", fmt::format("is no dimension of '{0}'; give its shape, with any length: "
                                              "shapes = {{ {0} = [...] }}",
                                              name));
      std::erase_if(a.inputs, [&](const input_shape& s) { return s.name == row->name; });
      a.inputs.push_back(std::move(*row));
    }
  }
  out.padding = std::move(p);
}

}  // namespace

model_shapes read_model_shapes(section& s, bool batched) {
  model_shapes out{read_alternatives(s), {}};
  if (!s.has("pad")) return out;
  if (out.alternatives.size() > 1)
    s.refuse("pad", "makes the shapes; give one shape at most, for the other dimensions");
  if (auto* pad = s.table("pad")) read_padding(*pad, batched, out);
  if (out.alternatives.empty()) out.alternatives.emplace_back();
  return out;
}

}  // namespace troupe
