#include "transport/kserve/shape_choice.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "messages/tensor/shaped_tensors.hpp"
#include "transport/kserve/given_input.hpp"
#include "transport/kserve/parameters.hpp"
#include "transport/kserve/refusal.hpp"
#include "transport/kserve/values.hpp"

namespace troupe {
namespace {

using namespace kserve;

const tensor_spec* find_tensor(const std::vector<tensor_spec>& tensors, std::string_view name) {
  const auto at = std::ranges::find(tensors, name, &tensor_spec::name);
  return at == tensors.end() ? nullptr : &*at;
}

/// Makes dimensions of `open` -1 where `other` has another one.
void open_where_different(std::vector<tensor_spec>& open, const std::vector<tensor_spec>& other) {
  for (size_t t = 0; t < open.size() && t < other.size(); ++t) {
    auto& dims = open[t].shape;
    const auto& others = other[t].shape;
    for (size_t i = 0; i < dims.size(); ++i)
      if (i >= others.size() || dims[i] != others[i]) dims[i] = -1;
  }
}

/// Leaves out the first dimensions, which are for rows.
void drop_rows(model_signature& s) {
  for (auto* tensors : {&s.inputs, &s.outputs})
    for (auto& t : *tensors)
      if (!t.shape.empty()) t.shape.erase(t.shape.begin());
  s.batched = true;
}

/// `x` has the shape of input `t`, with any number of rows.
bool same_row(const sent_shape& x, const tensor_spec& t, bool batched) {
  const size_t skipped = batched ? 1 : 0;
  return x.dims.size() == t.shape.size() + skipped &&
         std::equal(t.shape.begin(), t.shape.end(), x.dims.begin() + static_cast<ptrdiff_t>(skipped));
}

bool fits(const std::vector<sent_shape>& sent, const model_signature& s) {
  return std::ranges::all_of(sent, [&](const sent_shape& x) {
    const auto* t = find_tensor(s.inputs, x.name);
    return t != nullptr && same_row(x, *t, s.batched);
  });
}

/// The first input with a shape that none of the signatures has; else the first: the shapes do not belong
/// together.
const sent_shape& misfit_of(const std::vector<sent_shape>& sent, std::span<const model_signature> shapes) {
  for (const auto& x : sent) {
    const auto has = [&](const model_signature& s) {
      const auto* t = find_tensor(s.inputs, x.name);
      return t != nullptr && same_row(x, *t, s.batched);
    };
    if (std::ranges::none_of(shapes, has)) return x;
  }
  return sent.front();
}

/// Copies the values that both shapes have, from `axis` on. The shapes are whole, of the same rank and type.
struct block_copy {
  const std::vector<int64_t>&from, &to;
  size_t element;

  size_t bytes(const std::vector<int64_t>& dims, size_t axis) const {
    size_t n = element;
    for (size_t i = axis; i < dims.size(); ++i) n *= static_cast<size_t>(dims[i]);
    return n;
  }
  void copy(size_t axis, const std::byte* values, std::byte* into) const {
    if (std::equal(from.begin() + static_cast<ptrdiff_t>(axis), from.end(),
                   to.begin() + static_cast<ptrdiff_t>(axis))) {
      std::memcpy(into, values, bytes(from, axis));
      return;
    }
    const auto rows = std::min(from[axis], to[axis]);
    if (axis + 1 == from.size()) {
      std::memcpy(into, values, static_cast<size_t>(rows) * element);
      return;
    }
    const auto step = bytes(from, axis + 1), step_into = bytes(to, axis + 1);
    for (int64_t i = 0; i < rows; ++i) copy(axis + 1, values + i * step, into + i * step_into);
  }
};

void fill(data_type type, double value, std::span<std::byte> into) {
  std::ranges::fill(into, std::byte{});
  if (value == 0) return;
  with_type(type, [&]<class T>(T) {
    const auto x = static_cast<T>(value);
    for (size_t at = 0; at < into.size(); at += sizeof x) std::memcpy(&into[at], &x, sizeof x);
  });
}

}  // namespace

http_result<std::vector<sent_shape>> read_sent_shapes(infer_body body, const model_signature& model) {
  if (body.json.empty())
    return http_error{400, "the model takes several shapes: send JSON that names the shape of each input"};
  try {
    json_reader in(body.json);
    std::vector<sent_shape> out;
    in.read_object([&](const std::string& key) {
      if (key != "inputs") {
        in.read_raw();
        return;
      }
      in.read_array([&] {
        auto x = read_input(in, out.size());
        if (find_tensor(model.inputs, x.name) == nullptr)
          refuse("input {} is unknown; the model takes {}", shortened(x.name), names_of(model.inputs));
        if (std::ranges::find(out, x.name, &sent_shape::name) != out.end())
          refuse("input {} occurs twice", json_quote(x.name));
        if (!x.has_shape) refuse("input {}: \"shape\" is missing", json_quote(x.name));
        out.push_back({std::move(x.name), std::move(x.shape)});
      });
    });
    if (out.empty()) refuse("\"inputs\" is missing");
    return out;
  } catch (http_error& e) {
    return std::move(e);
  }
}

model_signature open_signature(std::span<const model_signature> shapes) {
  auto open = shapes.front();
  for (auto s : shapes.subspan(1)) {
    if (open.batched && !s.batched) drop_rows(s);
    open_where_different(open.inputs, s.inputs);
    open_where_different(open.outputs, s.outputs);
  }
  return open;
}

http_result<model_signature> given_shapes(const std::vector<sent_shape>& sent, const model_signature& model) {
  auto out = model;
  for (const auto& x : sent) {
    const auto t = std::ranges::find(out.inputs, x.name, &tensor_spec::name);
    if (!fits(*t, x.dims) || std::ranges::find(x.dims, 0) != x.dims.end())
      return http_error{400, fmt::format("input {}: shape {} given, {} expected, where -1 is any number",
                                         json_quote(x.name), shape_text(x.dims), shape_text(t->shape))};
    t->shape = x.dims;
    if (!values_bytes({&*t, 1}))
      return http_error{413, fmt::format("input {}: shape {} given, which no memory holds",
                                         json_quote(x.name), shape_text(x.dims))};
  }
  return out;
}

http_result<size_t> choose_shape(const std::vector<sent_shape>& sent,
                                 std::span<const model_signature> shapes) {
  for (size_t i = 0; i < shapes.size(); ++i)
    if (fits(sent, shapes[i])) return i;
  const auto& wrong = misfit_of(sent, shapes);
  std::string known;
  for (const auto& s : shapes)
    if (const auto* t = find_tensor(s.inputs, wrong.name))
      known += (known.empty() ? "" : ", ") + shape_text(s.whole(*t, -1).shape);
  return http_error{400, fmt::format("input {}: shape {} given; the model has the shapes {}",
                                     json_quote(wrong.name), shape_text(wrong.dims), known)};
}

http_result<padded_choice> choose_length(const std::vector<sent_shape>& sent,
                                         std::span<const model_signature> shapes, const padded_axis& by) {
  const auto is_padded = [&](const std::string& name) {
    return std::ranges::find(by.inputs, name, &input_constant::name) != by.inputs.end();
  };
  const auto padded = std::ranges::find_if(sent, is_padded, &sent_shape::name);
  padded_choice out{0, shapes.front(), {}};
  if (padded == sent.end()) return out;  // missing inputs are refused with the request
  if (by.axis >= padded->dims.size())
    return http_error{400, fmt::format("input {}: shape {} given, which has no dimension {}",
                                       json_quote(padded->name), shape_text(padded->dims), by.axis)};
  const auto length = padded->dims[by.axis];
  const auto enough = std::ranges::find_if(by.lengths, [&](uint32_t n) { return n >= length; });
  if (enough == by.lengths.end() || length == 0)
    return http_error{400, fmt::format("input {}: dimension {} is {}; the model takes 1 to {}",
                                       json_quote(padded->name), by.axis, length, by.lengths.back())};
  out.shape = static_cast<size_t>(enough - by.lengths.begin());
  out.sent = shapes[out.shape];
  const size_t axis = by.axis - (out.sent.batched ? 1 : 0);
  for (auto& t : out.sent.inputs)
    if (is_padded(t.name) && axis < t.shape.size()) t.shape[axis] = length;
  const auto open = open_signature(shapes);
  for (uint32_t o = 0; o < open.outputs.size(); ++o) {
    auto dims = open.outputs[o].shape;
    bool follows = true;
    for (size_t s = 0; s < shapes.size(); ++s) {
      const auto& at = shapes[s].outputs[o].shape;
      follows = follows && axis < at.size() && at[axis] == by.lengths[s];
    }
    if (follows) out.sent.outputs[o].shape[axis] = dims[axis] = length;
    if (std::ranges::find(dims, -1) != dims.end()) out.padded_outputs.push_back(o);
  }
  return out;
}

bool can_pad_with(data_type type, double value) {
  if (value == 0) return type != data_type::bytes;
  bool exact = false;
  with_type(type, [&]<class T>(T) {
    exact = value >= static_cast<double>(std::numeric_limits<T>::lowest()) &&
            value <= static_cast<double>(std::numeric_limits<T>::max()) &&
            (std::is_floating_point_v<T> || value == std::floor(value));
  });
  return exact;
}

void pad_inputs(const model_signature& sent, const model_signature& runs, uint32_t rows,
                const padded_axis& by, std::span<const std::byte> inputs, std::span<std::byte> into) {
  for (size_t i = 0; i < runs.inputs.size(); ++i) {
    const auto from = sent.whole(sent.inputs[i], rows), to = runs.whole(runs.inputs[i], rows);
    const auto room = into.first(row_bytes(to));
    into = into.subspan(room.size());
    const auto value = std::ranges::find(by.inputs, to.name, &input_constant::name);
    if (value != by.inputs.end() && from.shape != to.shape) fill(to.type, value->value, room);
    block_copy{from.shape, to.shape, size_of(to.type)}.copy(0, inputs.data(), room.data());
    inputs = inputs.subspan(row_bytes(from));
  }
}

std::vector<std::byte> cut_outputs(const model_signature& runs, const model_signature& sent, uint32_t rows,
                                   std::span<const std::byte> outputs) {
  if (outputs.size() != output_row_bytes(runs) * rows) return {};
  std::vector<std::byte> out(output_row_bytes(sent) * rows);
  auto* at = out.data();
  for (size_t i = 0; i < sent.outputs.size(); ++i) {
    const auto from = runs.whole(runs.outputs[i], rows), to = sent.whole(sent.outputs[i], rows);
    block_copy{from.shape, to.shape, size_of(to.type)}.copy(0, outputs.data(), at);
    outputs = outputs.subspan(row_bytes(from));
    at += row_bytes(to);
  }
  return out;
}

}  // namespace troupe
