#include "gpu/onnx/weights.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/common/fnv.hpp"
#include "gpu/common/model_error.hpp"

namespace troupe::onnx {

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

weights::weights(std::vector<layer> layers) {
  for (auto& l : layers) {
    auto& s = layers_.emplace_back();
    s.plain.resize(l.parameters.size());
    s.description = std::move(l);
  }
}

void weights::load_layer(size_t i, blob bytes) {
  auto& s = layers_.at(i);
  if (bytes->size() != s.description.bytes || fnv1a(bytes->span()) != s.description.hash) {
    throw model_error(fmt::format("layer {}: these are not its parameters (size or hash differs)", i));
  }
  const std::scoped_lock lock(mutex_);
  if (s.ready) return;
  s.bytes = std::move(bytes);
  for (size_t k = 0; k < s.plain.size(); ++k) {
    // Kernels only read parameters; the cast is for the libraries that take one pointer type for both.
    s.plain[k] = const_cast<std::byte*>(s.bytes->data()) + s.description.parameters[k].offset;
  }
  for (auto& p : s.packed) pack(s, p);
  s.ready = true;
}

bool weights::ready(size_t first, size_t last) const {
  return std::all_of(layers_.begin() + static_cast<ptrdiff_t>(first),
                     layers_.begin() + static_cast<ptrdiff_t>(last),
                     [](const state& s) { return s.ready.load(); });
}

address weights::plain(parameter_id p) { return &layers_.at(p.layer).plain.at(p.index); }

address weights::packed(parameter_id p, const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  if (from == to) return plain(p);
  const std::scoped_lock lock(mutex_);
  auto& s = layers_.at(p.layer);
  for (auto& known : s.packed) {
    if (known.index == p.index && known.from == from && known.to == to) return &known.data;
  }
  auto& fresh = s.packed.emplace_back();
  fresh.index = p.index;
  fresh.from = from;
  fresh.to = to;
  if (s.ready) pack(s, fresh);
  return &fresh.data;
}

void weights::pack(state& s, slot& p) {
  p.memory = aligned_bytes(p.to.get_size());
  dnnl::stream stream(cpu_engine());
  dnnl::memory source(p.from, cpu_engine(), s.plain[p.index]);
  dnnl::memory target(p.to, cpu_engine(), p.memory.data());
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
  p.data = p.memory.data();
  packed_bytes_ += p.memory.size();
}

uint64_t weights::packed_bytes() const {
  const std::scoped_lock lock(mutex_);
  return packed_bytes_;
}

}  // namespace troupe::onnx
