#include "gpu/openvino/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <openvino/runtime/core.hpp>
#include <openvino/runtime/properties.hpp>
#include <span>
#include <utility>

#include "gpu/common/heap_growth.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/onnx/batch_parts.hpp"
#include "gpu/openvino/brief.hpp"
#include "messages/tensor/shaped_tensors.hpp"

namespace troupe::vino {
namespace {

/// Loads plug-ins, so there is one for the process.
ov::Core& core() {
  static ov::Core one;
  return one;
}

/// Kernels of each kind that a model of any shape keeps for shapes that it has seen. The plug-in's own bound
/// of 5000 takes gigabytes.
constexpr int kept_kernels = 512;

ov::CompiledModel compile(const std::shared_ptr<ov::Model>& graph, bool bf16, bool any_shape, int threads) {
  ov::AnyMap how{
      // without ACCURACY the plug-in may compute in bf16 and quantise activations
      ov::hint::execution_mode(bf16 ? ov::hint::ExecutionMode::PERFORMANCE
                                    : ov::hint::ExecutionMode::ACCURACY),
      ov::hint::inference_precision(bf16 ? ov::element::bf16 : ov::element::f32),
      ov::num_streams(1),  // a device runs one batch at a time, with all its threads
      ov::inference_num_threads(threads),
      ov::hint::enable_cpu_pinning(false),
  };
  if (any_shape) how["CPU_RUNTIME_CACHE_CAPACITY"] = kept_kernels;
  return core().compile_model(graph, "CPU", how);
}

/// OpenVINO computes 64-bit integers in 32 bits.
template <class Integer>
void check_range(const ov::Tensor& t, const std::string& input, const std::string& file) {
  const std::span values(static_cast<const Integer*>(t.data()), t.get_size());
  const auto bad = std::ranges::find_if_not(values, [](Integer v) { return std::in_range<int32_t>(v); });
  if (bad == values.end()) return;
  throw model_error(fmt::format("{}: input '{}' has the value {}: OpenVINO computes integers in 32 bits",
                                file, input, *bad));
}

}  // namespace

model::model(const model_source& source, const std::string& content, int threads)
    : file_(source.path),
      batched_(source.batched),
      any_shape_(source.any_shape),
      bf16_(source.bf16),
      threads_(threads),
      checked_rows_(source.max_batch) {
  try {
    core().get_versions("CPU");  // loads the plug-in, which is no model's
    const heap_growth growth;
    auto g = read_graph(source, content);
    graph_ = std::move(g.model);
    signature_ = std::move(g.signature);
    has_rows_ = any_shape_ && source.max_batch > 1 && keeps_rows(*graph_);
    prepare();
    memory_bytes_ = growth.bytes();
  } catch (const model_error&) {
    throw;
  } catch (const std::exception& e) {
    throw model_error(fmt::format("{}: OpenVINO cannot run it: {}", file_, brief(e)));
  }
}

void model::prepare() {
  compiled_ = compile(graph_, bf16_, any_shape_, threads_);
  request_ = compiled_.create_infer_request();
}

std::vector<ov::Tensor> model::tensors(uint32_t rows) const {
  std::vector<ov::Tensor> out;
  for (size_t i = 0; i < signature_.inputs.size(); ++i) {
    ov::Shape shape(signature_.inputs[i].shape.begin(), signature_.inputs[i].shape.end());
    if (batched_) shape.insert(shape.begin(), rows);
    out.emplace_back(compiled_.input(i).get_element_type(), shape);
  }
  return out;
}

/// Two defects of OpenVINO 2026.4 with shapes that do not fit together within the graph: with one thread
/// `ov::InferRequest::infer` reports no failure and leaves the outputs of the request before, so this is the
/// asynchronous call; and a compiled model fails again for the shapes of the last request that succeeded, so
/// it is compiled anew.
void model::infer(std::vector<ov::Tensor>& inputs) {
  try {
    if (std::exchange(failed_, false)) prepare();
    for (size_t i = 0; i < inputs.size(); ++i) request_.set_input_tensor(i, inputs[i]);
    request_.start_async();
    request_.wait();
  } catch (const std::exception& e) {
    failed_ = batched_ || any_shape_;  // else its shapes are fixed
    throw model_error(fmt::format("{}: {}", file_, brief(e)));
  }
}

void model::warm(uint32_t rows) {
  if (any_shape_) return;
  const heap_growth growth;
  {
    auto inputs = tensors(batched_ ? rows : 1);
    for (auto& t : inputs) std::memset(t.data(), 0, t.get_byte_size());
    infer(inputs);
  }
  memory_bytes_ += growth.bytes();
}

void model::check_integers(const std::vector<ov::Tensor>& inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& [name, type, shape] = signature_.inputs[i];
    if (type == data_type::int64) check_range<int64_t>(inputs[i], name, file_);
    if (type == data_type::uint64) check_range<uint64_t>(inputs[i], name, file_);
  }
}

void model::check_rows(uint32_t rows) {
  try {
    check_batch(*graph_, rows);
  } catch (const std::exception& e) {
    throw model_error(fmt::format("{}: {}", file_, brief(e)));
  }
  checked_rows_ = rows;
}

void model::run_shaped(std::span<const batch_part> parts) {
  std::vector<shaped_tensors> given;
  for (const auto& p : parts) {
    auto read = read_shapes(signature_.inputs, p.input);
    if (!read || p.shaped_output == nullptr)
      throw model_error(
          fmt::format("{}: the inputs of the request do not have the shapes of the model", file_));
    given.push_back(std::move(*read));
  }
  for (const auto& which : equal_rows(given, has_rows_)) run_together(parts, given, which);
}

void model::run_together(std::span<const batch_part> parts, std::span<const shaped_tensors> given,
                         std::span<const size_t> which) {
  const auto& first = given[which.front()].tensors;
  std::vector<ov::Tensor> inputs;
  std::vector<uint64_t> done(which.size());  // bytes of each request
  for (size_t i = 0; i < first.size(); ++i) {
    ov::Shape shape(first[i].shape.begin(), first[i].shape.end());
    if (which.size() > 1) shape.front() = total_rows(given, which);
    auto& into = inputs.emplace_back(compiled_.input(i).get_element_type(), shape);
    auto* at = static_cast<std::byte*>(into.data());
    for (size_t k = 0; k < which.size(); ++k) {
      const auto bytes = *values_bytes({&given[which[k]].tensors[i], 1});
      std::memcpy(at, given[which[k]].values.data() + done[k], bytes);
      at += bytes;
      done[k] += bytes;
    }
  }
  check_integers(inputs);
  infer(inputs);
  std::vector<ov::Tensor> outputs;
  for (size_t i = 0; i < signature_.outputs.size(); ++i) {
    const auto& output = outputs.emplace_back(request_.get_output_tensor(i));
    if (which.size() > 1 && output.get_shape().front() != total_rows(given, which))
      throw model_error(fmt::format("{}: output '{}' does not begin with the number of rows", file_,
                                    signature_.outputs[i].name));
  }
  uint64_t row = 0;
  for (const auto k : which) {
    const bool whole = which.size() == 1;
    const auto rows = whole ? 0 : rows_of(given[k]);
    auto tensors = signature_.outputs;
    uint64_t bytes = 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const auto shape = outputs[i].get_shape();
      tensors[i].shape.assign(shape.begin(), shape.end());
      if (!whole) tensors[i].shape.front() = static_cast<int64_t>(rows);
      bytes += *values_bytes({&tensors[i], 1});
    }
    auto& answer = *parts[k].shaped_output;
    answer.resize(shapes_bytes(tensors) + bytes);
    auto rest = write_shapes(tensors, answer);
    for (size_t i = 0; i < tensors.size(); ++i) {
      const auto size = *values_bytes({&tensors[i], 1});
      const auto before = whole ? 0 : size / rows * row;
      if (size > 0) std::memcpy(rest.data(), static_cast<const std::byte*>(outputs[i].data()) + before, size);
      rest = rest.subspan(size);
    }
    row += rows;
  }
}

bool model::run(uint32_t rows, std::span<const batch_part> parts, const std::atomic<bool>* stop) {
  if (!any_shape_) onnx::check_parts(signature_, file_, rows, parts);
  if (!batched_ && !any_shape_ && (rows != 1 || parts.size() != 1))
    throw model_error(fmt::format("{}: it has no batches; {} requests came as one", file_, rows));
  if (stop != nullptr && *stop) return false;
  if (batched_ && rows > checked_rows_) check_rows(rows);
  if (any_shape_) return run_shaped(parts), true;
  auto inputs = tensors(rows);
  onnx::gather_inputs(signature_, parts, [&](size_t i) { return static_cast<std::byte*>(inputs[i].data()); });
  check_integers(inputs);
  infer(inputs);
  std::vector<ov::Tensor> outputs;
  for (size_t i = 0; i < signature_.outputs.size(); ++i) {
    outputs.push_back(request_.get_output_tensor(i));
    if (outputs.back().get_byte_size() != rows * row_bytes(signature_.outputs[i]))
      throw model_error(fmt::format("{}: output '{}' has {} bytes for {} rows of {}", file_,
                                    signature_.outputs[i].name, outputs.back().get_byte_size(), rows,
                                    row_bytes(signature_.outputs[i])));
  }
  onnx::scatter_outputs(
      signature_, [&](size_t i) { return static_cast<const std::byte*>(outputs[i].data()); }, parts);
  return true;
}

}  // namespace troupe::vino
