#include "gpu/onnx/layers.hpp"

#include <algorithm>
#include <cstring>

#include "gpu/common/fnv.hpp"
#include "gpu/onnx/operators.hpp"

namespace troupe::onnx {

std::set<std::string, std::less<>> shape_values(const graph& g) {
  std::set<std::string, std::less<>> known;
  for (const auto& n : g.nodes) {
    const bool from_known = std::ranges::all_of(n.inputs, [&](const std::string& name) {
      return name.empty() || known.contains(name) || g.constants.contains(name);
    });
    if (n.op == "Shape" || from_known) known.insert(n.outputs.begin(), n.outputs.end());
  }
  return known;
}

namespace {

/// For every activation the index of the last node that reads it; `nodes.size()` for a graph output.
std::map<std::string, size_t, std::less<>> last_readers(const graph& g) {
  std::map<std::string, size_t, std::less<>> last;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    if (g.nodes[i].op == "Shape") continue;  // reads the shape, not the value
    for (const auto& name : g.nodes[i].inputs) last[name] = i;
  }
  for (const auto& name : g.outputs) last[name] = g.nodes.size();
  return last;
}

bool is_parameter(const tensor& t) { return t.type == data_type::fp32 && t.elements() > 1; }

std::vector<layer> cut(const graph& g) {
  const auto from_shapes = shape_values(g);
  const auto last = last_readers(g);
  std::set<std::string> live;
  const auto produce = [&](const std::string& name, size_t after) {
    const auto reader = last.find(name);
    if (reader != last.end() && reader->second >= after && !from_shapes.contains(name)) live.insert(name);
  };
  for (const auto& input : g.inputs) produce(input.name, 0);

  std::vector<layer> layers(1);
  bool has_head = false;  // the current layer already has a node that heads it
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const auto& n = g.nodes[i];
    const bool heads = !from_shapes.contains(n.outputs.front()) && find_operator(n.op)->heads_layer;
    if (heads && has_head && live.size() == 1) {
      layers.back().end_node = i;
      layers.push_back({i, i, *live.begin(), {}, 0, 0});
      has_head = false;
    }
    has_head |= heads;
    std::erase_if(live, [&](const std::string& name) { return last.find(name)->second <= i; });
    for (const auto& name : n.outputs) produce(name, i + 1);
  }
  layers.back().end_node = g.nodes.size();
  return layers;
}

}  // namespace

layered_graph cut_into_layers(graph& g) {
  layered_graph out{cut(g), {}};
  const auto from_shapes = shape_values(g);
  std::set<std::string> moved;
  for (auto& l : out.layers) {
    std::map<const aligned_bytes*, size_t> offsets;  // constants that share memory share an offset
    std::vector<const tensor*> contents;
    for (size_t i = l.first_node; i < l.end_node; ++i) {
      if (from_shapes.contains(g.nodes[i].outputs.front())) continue;
      for (const auto& name : g.nodes[i].inputs) {
        const auto constant = g.constants.find(name);
        if (constant == g.constants.end() || !is_parameter(constant->second)) continue;
        if (std::ranges::find(l.parameters, name, &parameter::name) != l.parameters.end()) continue;
        const auto& t = constant->second;
        const auto [place, fresh] = offsets.try_emplace(t.data.get(), l.bytes);
        if (fresh) l.bytes += (t.bytes() + 63) / 64 * 64;
        l.parameters.push_back({name, t.dims, place->second});
        contents.push_back(&t);
        moved.insert(name);
      }
    }
    auto bytes = std::make_shared<aligned_bytes>(l.bytes);
    if (l.bytes > 0) std::memset(bytes->data(), 0, l.bytes);
    for (size_t i = 0; i < contents.size(); ++i) {
      std::memcpy(bytes->data() + l.parameters[i].offset, contents[i]->data->data(), contents[i]->bytes());
    }
    l.hash = fnv1a(bytes->span());
    out.blobs.push_back(std::move(bytes));
  }
  for (const auto& name : moved) g.constants.erase(name);
  return out;
}

}  // namespace troupe::onnx
