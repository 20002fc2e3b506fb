#include "gpu/onnx/fusion.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace troupe::onnx {

namespace {

const tensor* constant(const graph& g, const node& n, size_t i) {
  if (i >= n.inputs.size()) return nullptr;
  const auto found = g.constants.find(n.inputs[i]);
  return found == g.constants.end() ? nullptr : &found->second;
}

template <class T>
T attribute_or(const node& n, std::string_view name, T otherwise) {
  const auto found = n.attributes.find(name);
  const auto* content = found == n.attributes.end() ? nullptr : std::get_if<T>(&found->second);
  return content ? *content : otherwise;
}

bool is_output(const graph& g, const std::string& name) {
  return std::ranges::find(g.outputs, name) != g.outputs.end();
}

bool does_nothing(const graph& g, const node& n) {
  if (n.op == "Identity") return true;
  if (n.op != "Dropout" || n.outputs.size() > 1) return false;
  if (n.inputs.size() < 3 || n.inputs[2].empty()) return true;
  const auto* training = constant(g, n, 2);
  return training && training->type == data_type::boolean && training->elements() == 1 &&
         training->as<uint8_t>()[0] == 0;
}

void take_out_idle_nodes(graph& g) {
  std::map<std::string, std::string> stands_for;
  std::erase_if(g.nodes, [&](node& n) {
    for (auto& name : n.inputs) {
      if (const auto found = stands_for.find(name); found != stands_for.end()) name = found->second;
    }
    if (!does_nothing(g, n) || is_output(g, n.outputs.front())) return false;
    stands_for[n.outputs.front()] = n.inputs.front();
    return true;
  });
}

/// y[c] = scale[c] · x[c] + shift[c], for the channels of dimension 1.
struct affine {
  std::vector<double> scale, shift;
};

bool are_vectors(std::initializer_list<const tensor*> list, size_t size) {
  return std::ranges::all_of(list, [size](const tensor* t) {
    return t && t->type == data_type::fp32 && t->dims == shape{static_cast<int64_t>(size)};
  });
}

std::optional<affine> normalization(const graph& g, const node& n, size_t channels) {
  if (n.outputs.size() != 1 || n.inputs.size() != 5 || attribute_or<int64_t>(n, "training_mode", 0) != 0)
    return std::nullopt;
  const auto *scale = constant(g, n, 1), *shift = constant(g, n, 2), *mean = constant(g, n, 3),
             *variance = constant(g, n, 4);
  if (!are_vectors({scale, shift, mean, variance}, channels)) return std::nullopt;
  const double epsilon = attribute_or(n, "epsilon", 1e-5F);
  affine a;
  for (size_t c = 0; c < channels; ++c) {
    const double factor = scale->as<float>()[c] / std::sqrt(variance->as<float>()[c] + epsilon);
    a.scale.push_back(factor);
    a.shift.push_back(shift->as<float>()[c] - factor * mean->as<float>()[c]);
  }
  return a;
}

/// Mul or Add of a constant with one value for each channel, in a result of `rank` dimensions.
std::optional<affine> scale_or_shift(const graph& g, const node& n, const std::string& x, size_t channels,
                                     size_t rank) {
  const size_t side = n.inputs[0] == x ? 1 : 0;
  const auto* t = constant(g, n, side);
  if (!t || t->type != data_type::fp32 || t->dims.size() > rank || n.inputs[1 - side] != x)
    return std::nullopt;
  for (size_t i = 0; i < t->dims.size(); ++i) {
    const bool along_channels = rank - t->dims.size() + i == 1;
    if (t->dims[i] != (along_channels ? static_cast<int64_t>(channels) : 1)) return std::nullopt;
  }
  if (static_cast<size_t>(t->elements()) != channels) return std::nullopt;
  const auto content = t->as<float>();
  const std::vector<double> values(content.begin(), content.end());
  if (n.op == "Mul") return affine{values, std::vector<double>(channels, 0)};
  return affine{std::vector<double>(channels, 1), values};
}

/// Position of the output's channels in the weights.
struct weights_shape {
  size_t channels = 0;
  size_t repeat = 0;  ///< contiguous elements of one channel
  size_t groups = 1;  ///< channel c of `channels / groups` in group k is channel k · channels / groups + c
  size_t group_size = 0;  ///< elements of a group
  size_t rank = 0;        ///< of the output
};

std::optional<weights_shape> weights_of(const node& n, const tensor& w) {
  if (w.type != data_type::fp32 || w.elements() <= 0) return std::nullopt;
  const auto size = static_cast<size_t>(w.elements()), rank = w.dims.size();
  const auto dim = [&](size_t i) { return static_cast<size_t>(w.dims[i]); };
  if (n.op == "Conv" && rank >= 3) return weights_shape{dim(0), size / dim(0), 1, size, rank};
  if (n.op == "ConvTranspose" && rank >= 3) {
    const auto groups = attribute_or<int64_t>(n, "group", 1);
    if (groups < 1 || w.dims[0] % groups != 0) return std::nullopt;
    const auto k = static_cast<size_t>(groups);
    return weights_shape{dim(1) * k, size / dim(0) / dim(1), k, size / k, rank};
  }
  if (n.op == "Gemm" && rank == 2 && attribute_or(n, "alpha", 1.0F) == 1 &&
      attribute_or(n, "beta", 1.0F) == 1) {
    if (attribute_or<int64_t>(n, "transB", 0) != 0) return weights_shape{dim(0), dim(1), 1, size, rank};
    return weights_shape{dim(1), 1, 1, size, rank};
  }
  return std::nullopt;
}

tensor make_floats(const shape& dims, const std::vector<float>& values) {
  return make_tensor(data_type::fp32, dims, std::as_bytes(std::span{values}));
}

/// A name that is unused in the graph.
std::string fresh_name(const graph& g, std::string name) {
  const auto taken = [&] {
    return g.constants.contains(name) ||
           std::ranges::find(g.inputs, name, &graph_input::name) != g.inputs.end() ||
           std::ranges::any_of(
               g.nodes, [&](const node& n) { return std::ranges::find(n.outputs, name) != n.outputs.end(); });
  };
  while (taken()) name += '\'';
  return name;
}

/// Folds `next`, the only reader of `n`'s output, into `n` if it can.
bool fold_into(graph& g, node& n, const node& next) {
  const auto *w = constant(g, n, 1), *bias = constant(g, n, 2);
  const bool has_bias = n.inputs.size() > 2 && !n.inputs[2].empty();
  const auto s = w ? weights_of(n, *w) : std::nullopt;
  if (!s || (has_bias && !are_vectors({bias}, s->channels))) return false;
  std::optional<affine> a;
  if (next.op == "BatchNormalization" && next.inputs[0] == n.outputs[0]) {
    a = normalization(g, next, s->channels);
  } else if ((next.op == "Mul" || next.op == "Add") && next.inputs.size() == 2) {
    a = scale_or_shift(g, next, n.outputs[0], s->channels, s->rank);
  }
  if (!a) return false;

  const auto old = w->as<float>();
  std::vector<float> scaled(old.size()), shifted(s->channels);
  const size_t per_group = s->channels / s->groups;
  for (size_t i = 0; i < old.size(); ++i) {
    const size_t c = i / s->group_size * per_group + i / s->repeat % per_group;
    scaled[i] = static_cast<float>(old[i] * a->scale[c]);
  }
  for (size_t c = 0; c < s->channels; ++c) {
    shifted[c] = static_cast<float>((has_bias ? bias->as<float>()[c] : 0.0) * a->scale[c] + a->shift[c]);
  }
  const auto weights_name = fresh_name(g, next.outputs[0] + ":weights");
  const auto bias_name = fresh_name(g, next.outputs[0] + ":bias");
  auto new_weights = make_floats(w->dims, scaled);
  g.constants.insert_or_assign(weights_name, std::move(new_weights));
  g.constants.insert_or_assign(bias_name, make_floats({static_cast<int64_t>(s->channels)}, shifted));
  n.inputs = {n.inputs[0], weights_name, bias_name};
  n.outputs[0] = next.outputs[0];
  return true;
}

void fold_channels(graph& g) {
  std::map<std::string, std::vector<size_t>> readers;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    for (const auto& name : g.nodes[i].inputs) readers[name].push_back(i);
  }
  std::set<size_t> gone;
  for (auto& n : g.nodes) {
    if (n.outputs.size() != 1) continue;
    while (true) {  // a bias of its own may stand between a convolution and its normalisation
      const auto found = readers.find(n.outputs[0]);
      if (found == readers.end() || found->second.size() != 1 || is_output(g, n.outputs[0])) break;
      const size_t next = found->second.front();
      if (!fold_into(g, n, g.nodes[next])) break;
      gone.insert(next);
    }
  }
  std::vector<node> kept;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    if (!gone.contains(i)) kept.push_back(std::move(g.nodes[i]));
  }
  g.nodes = std::move(kept);
}

}  // namespace

void fuse(graph& g) {
  take_out_idle_nodes(g);
  fold_channels(g);
}

}  // namespace troupe::onnx
