#include "gpu/onnx/plan.hpp"

#include <fmt/format.h>

#include <cstring>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/model.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

namespace {

void reorder(const dnnl::memory::desc& from, const std::byte* in, const dnnl::memory::desc& to,
             std::byte* out) {
  dnnl::stream stream(cpu_engine());
  dnnl::memory source(from, cpu_engine(), const_cast<std::byte*>(in));
  dnnl::memory target(to, cpu_engine(), out);
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
}

dnnl::memory::desc row_major(const shape& dims) {
  return {dims, dnnl::memory::data_type::f32, strides_of(dims)};
}

}  // namespace

void port::read(std::byte* out) const {
  if (bytes() == 0) return;
  if (!layout) {
    std::memcpy(out, *data, bytes());
  } else {
    reorder(layout, *data, row_major(dims), out);
  }
}

void port::write(const std::byte* in) const {
  if (bytes() == 0) return;
  if (!layout) {
    std::memcpy(*data, in, bytes());
  } else {
    reorder(row_major(dims), in, layout, *data);
  }
}

bool plan::run(size_t first, size_t last, const std::atomic<bool>* stop) const {
  for (size_t i = layer_steps_[first]; i < layer_steps_[last]; ++i) {
    if (stop != nullptr && *stop) return false;
    steps_[i]();
  }
  return true;
}

std::unique_ptr<plan> make_plan(const model& m, weights& w, int64_t rows) {
  const auto& g = m.program();
  plan_builder builder(g, &w, m.fused() == fusion::on ? &m.readers() : nullptr);
  std::vector<port> inputs;
  for (const auto& input : g.inputs) {
    auto dims = input.dims;
    dims.front() = rows;
    inputs.push_back(builder.port_of(builder.define_input(input.name, input.type, std::move(dims))));
  }
  std::vector<port> boundaries;
  for (size_t k = 0; k < m.layers().size(); ++k) {
    const auto& l = m.layers()[k];
    builder.begin_layer();
    boundaries.push_back(k == 0 ? port{} : builder.port_of(builder.lookup(l.activation)));
    for (size_t p = 0; p < l.parameters.size(); ++p) {
      builder.define_parameter(l.parameters[p].name, l.parameters[p].dims, {k, p});
    }
    for (size_t i = l.first_node; i < l.end_node; ++i) builder.build(g.nodes[i]);
  }
  std::vector<port> outputs;
  for (const auto& name : g.outputs) {
    const auto& v = builder.plain_of(name);
    builder.keep(v);
    outputs.push_back(builder.port_of(v));
  }
  auto out = builder.finish();
  out->inputs = std::move(inputs);
  out->outputs = std::move(outputs);
  out->boundaries = std::move(boundaries);
  return out;
}

std::vector<tensor> evaluate(const graph& g, const node& n, const std::vector<tensor>& inputs,
                             fold_budget& budget) {
  plan_builder builder(g, nullptr, nullptr);
  builder.begin_layer();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!n.inputs[i].empty()) builder.define_constant(n.inputs[i], inputs[i]);
  }
  builder.build_here(n);
  std::vector<port> ports;
  for (const auto& name : n.outputs) {
    if (name.empty()) {
      ports.push_back({});
      continue;
    }
    const auto& v = builder.plain_of(name);
    builder.keep(v);
    ports.push_back(builder.port_of(v));
  }
  uint64_t given = 0;
  for (const auto& o : ports) given += o.data ? o.bytes() : 0;
  if (!budget.take(given)) {
    throw model_error(
        fmt::format("{}: {}: would make {} bytes of constants; all that are computed may have {}", g.file,
                    describe(n), given, budget.max()));
  }
  const auto p = builder.finish();
  if (p->flops + p->pooled > max_folded_operations) {
    throw model_error(fmt::format("{}: {}: would take {:.0e} operations on constants alone", g.file,
                                  describe(n), p->flops + p->pooled));
  }
  p->run(0, 1);
  std::vector<tensor> outputs;
  for (const auto& o : ports) {
    outputs.push_back(o.data ? make_tensor(o.type, o.dims, {*o.data, o.bytes()}) : tensor{});
  }
  return outputs;
}

}  // namespace troupe::onnx
