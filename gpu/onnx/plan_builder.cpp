#include "gpu/onnx/plan_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/memory_layout.hpp"
#include "gpu/onnx/operators.hpp"

namespace troupe::onnx {

namespace {

constexpr size_t forever = SIZE_MAX;

/// A oneDNN primitive with its arguments. Memory objects are bound at the step's first run: only then are the
/// plan's memory and the layers' weights allocated.
struct primitive_step {
  struct binding {
    dnnl::memory memory;
    address data;
    std::byte* bound = nullptr;
  };
  dnnl::primitive primitive;
  dnnl::stream stream;
  std::vector<binding> bindings;
  std::unordered_map<int, dnnl::memory> arguments;

  void operator()() {
    for (auto& b : bindings) {
      if (b.bound != *b.data) b.memory.set_data_handle(b.bound = *b.data);
    }
    primitive.execute(stream, arguments);
    stream.wait();
  }
};

}  // namespace

plan_builder::plan_builder(const graph& g, weights* w, const readers* r)
    : graph_(g), weights_(w), readers_(r), plan_(std::make_unique<plan>()), stream_(cpu_engine()) {}

void plan_builder::fail(const std::string& what) const {
  const auto where = node_ ? describe(*node_) + ": " : std::string{};
  throw model_error(fmt::format("{}: {}{}", graph_.file, where, what));
}

// Values and memory.

value plan_builder::make_value(data_type type, shape dims, size_t bytes) {
  if (bytes > max_plan_bytes)
    fail(fmt::format("needs {} bytes for {}, which is too much", bytes, to_string(dims)));
  auto& b = plan_->buffers_.emplace_back(buffer{bytes, time_, time_, 0, nullptr});
  value v{type, std::move(dims), &b.data, &b, {}, true, {}, {}};
  if (type == data_type::fp32) v.layout = plain_layout(v.dims);
  return v;
}

void plan_builder::touch(const value& v) {
  if (v.memory) v.memory->last = std::max(v.memory->last, time_);
}

void plan_builder::keep(const value& v) {
  if (v.memory) v.memory->last = forever;
}

value& plan_builder::define_input(const std::string& name, data_type type, shape dims) {
  const int64_t count = element_count(dims);
  if (count <= 0) fail(fmt::format("input '{}' has the impossible shape {}", name, to_string(dims)));
  const auto bytes = static_cast<size_t>(count) * size_of(type);
  auto& v = values_[name] = make_value(type, std::move(dims), bytes);
  v.memory->first = 0;
  return v;
}

void plan_builder::define_constant(const std::string& name, const tensor& content) {
  // Kernels only read constants; the cast is for the libraries that take one pointer type for both.
  auto*& pointer = plan_->pointers_.emplace_back(const_cast<std::byte*>(content.data->data()));
  plan_->constants_.push_back(content.data);
  value v{content.type, content.dims, &pointer, nullptr, {}, true, content, {}};
  if (v.type == data_type::fp32 && v.elements() > 0) v.layout = plain_layout(v.dims);
  values_[name] = std::move(v);
}

void plan_builder::define_parameter(const std::string& name, const shape& dims, parameter_id id) {
  values_[name] =
      value{data_type::fp32, dims, weights_->plain(id), nullptr, plain_layout(dims), true, {}, id};
}

const value& plan_builder::lookup(const std::string& name) {
  if (const auto known = values_.find(name); known != values_.end()) return known->second;
  if (const auto constant = graph_.constants.find(name); constant != graph_.constants.end()) {
    define_constant(name, constant->second);
    return values_.find(name)->second;
  }
  fail(fmt::format("'{}' has no value", name));
}

const value& plan_builder::plain_of(const std::string& name) {
  const auto& v = lookup(name);
  if (v.plain) return v;
  auto& copies = reordered_[v.data];
  for (const auto& copy : copies) {
    if (copy.plain) {
      touch(copy);
      return copy;
    }
  }
  return copies.emplace_back(reordered(v, plain_layout(v.dims)));
}

value plan_builder::reordered(const value& v, const dnnl::memory::desc& layout) {
  auto copy = make_value(v.type, v.dims, layout.get_size());
  copy.layout = layout;
  copy.plain = is_row_major(layout);
  touch(v);
  const dnnl::reorder::primitive_desc pd(cpu_engine(), v.layout, cpu_engine(), layout, attributes());
  emit(dnnl::reorder(pd), pd.scratchpad_desc(),
       {{DNNL_ARG_FROM, v.layout, v.data}, {DNNL_ARG_TO, layout, copy.data}});
  return copy;
}

port plan_builder::port_of(const value& v) const {
  return {v.type, v.dims, v.data, v.plain ? dnnl::memory::desc{} : v.layout};
}

// Nodes and layouts.

void plan_builder::build(const node& n) {
  if (std::ranges::find(taken_, &n) != taken_.end()) return;
  node_ = &n;
  ++time_;
  bool known = n.op != "Shape";
  for (const auto& name : n.inputs) known = known && (name.empty() || lookup(name).constant);
  if (known) {
    std::vector<tensor> inputs;
    for (const auto& name : n.inputs) inputs.push_back(name.empty() ? tensor{} : *lookup(name).constant);
    const auto outputs = evaluate(graph_, n, inputs, known_budget_);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].data) define_constant(n.outputs[i], outputs[i]);
    }
  } else {
    build_here(n);
  }
  node_ = nullptr;
}

void plan_builder::build_here(const node& n) {
  node_ = &n;
  output_name_ = n.outputs.front();
  const auto* entry = find_operator(n.op);
  if (!entry) fail("this operator is not supported");
  try {
    entry->build(*this);
  } catch (const dnnl::error& e) {
    fail(fmt::format("cannot be run with these shapes ({})", e.what()));
  }
  for (size_t i = 1; i < n.outputs.size(); ++i) {
    if (!n.outputs[i].empty() && !values_.contains(n.outputs[i])) {
      fail(fmt::format("its output '{}' is not supported; only the first output is", n.outputs[i]));
    }
  }
  node_ = nullptr;
}

value plan_builder::in_layout(const value& v, const dnnl::memory::desc& layout) {
  touch(v);
  if (v.layout == layout || (v.plain && is_row_major(layout))) return v;
  auto& copies = reordered_[v.data];
  for (const auto& copy : copies) {
    if (copy.layout == layout) {
      touch(copy);
      return copy;
    }
  }
  return copies.emplace_back(reordered(v, layout));
}

address plan_builder::packed(const value& v, const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  touch(v);
  if (from == to) return v.data;
  if (v.parameter) return weights_->packed(*v.parameter, from, to);
  auto copy = make_value(v.type, v.dims, to.get_size());
  const dnnl::reorder::primitive_desc pd(cpu_engine(), from, cpu_engine(), to, attributes());
  emit(dnnl::reorder(pd), pd.scratchpad_desc(),
       {{DNNL_ARG_FROM, from, v.data}, {DNNL_ARG_TO, to, copy.data}});
  return copy.data;
}

// Outputs and steps.

const value& plan_builder::define(size_t i, value v) {
  const auto& name = i == 0 ? output_name_ : node_->outputs.at(i);
  return values_[name] = std::move(v);
}

const value& plan_builder::output(size_t i, data_type type, shape dims) {
  const int64_t count = element_count(dims);
  if (count < 0 || (count == 0 && type == data_type::fp32)) {
    fail(fmt::format("its output would have the impossible shape {}", to_string(dims)));
  }
  return define(i, make_value(type, std::move(dims), static_cast<size_t>(count) * size_of(type)));
}

const value& plan_builder::output(size_t i, shape dims, const dnnl::memory::desc& layout) {
  auto v = make_value(data_type::fp32, std::move(dims), layout.get_size());
  v.layout = layout;
  v.plain = is_row_major(layout);
  return define(i, std::move(v));
}

const value& plan_builder::output_in_place(const value& residual) {
  touch(residual);
  reordered_.erase(residual.data);  // copies of the old content
  std::erase_if(values_, [&](const auto& entry) { return entry.second.memory == residual.memory; });
  return define(0, residual);
}

void plan_builder::output_alias(size_t i, const value& v, shape dims) {
  if (element_count(dims) != v.elements()) {
    fail(fmt::format("cannot reshape {} to {}", to_string(v.dims), to_string(dims)));
  }
  touch(v);
  value alias = v;
  if (alias.dims != dims) {
    alias.dims = std::move(dims);
    if (alias.type == data_type::fp32) alias.layout = plain_layout(alias.dims);
    if (alias.constant) alias.constant->dims = alias.dims;
    alias.parameter.reset();
  }
  define(i, std::move(alias));
}

void plan_builder::output_constant(size_t i, const tensor& content) {
  define_constant(i == 0 ? output_name_ : node_->outputs.at(i), content);
}

dnnl::primitive_attr plan_builder::attributes() {
  dnnl::primitive_attr a;
  a.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return a;
}

void plan_builder::emit(const dnnl::primitive& p, const dnnl::memory::desc& scratchpad,
                        std::vector<argument> arguments) {
  if (scratchpad.get_size() > 0) {
    scratch_size_ = std::max(scratch_size_, scratchpad.get_size());
    arguments.push_back({DNNL_ARG_SCRATCHPAD, scratchpad, &plan_->scratch_data_});
  }
  primitive_step step{p, stream_, {}, {}};
  for (const auto& a : arguments) {
    dnnl::memory memory(a.layout, cpu_engine(), nullptr);
    step.arguments.emplace(a.kind, memory);
    step.bindings.push_back({std::move(memory), a.data, nullptr});
  }
  emit(std::move(step));
}

void plan_builder::begin_layer() {
  plan_->layer_steps_.push_back(plan_->steps_.size());
  reordered_.clear();  // a layer must not read copies that an earlier one made
}

std::unique_ptr<plan> plan_builder::finish() {
  begin_layer();
  const size_t size = lay_out(plan_->buffers_);
  if (size > max_plan_bytes || scratch_size_ > max_plan_bytes) {
    fail(fmt::format("needs {} bytes for its activations, which is too much", size));
  }
  try {
    plan_->arena_ = aligned_bytes(size);
    plan_->scratch_ = aligned_bytes(scratch_size_);
  } catch (const std::bad_alloc&) {
    fail(fmt::format("{} bytes of activations do not fit into memory", size + scratch_size_));
  }
  plan_->scratch_data_ = plan_->scratch_.data();
  for (auto& b : plan_->buffers_) b.data = plan_->arena_.data() + b.offset;
  return std::move(plan_);
}

}  // namespace troupe::onnx
