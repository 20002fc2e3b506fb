#include "gpu/onnx/executor.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/batch_parts.hpp"
#include "gpu/onnx/model.hpp"
#include "gpu/onnx/plan.hpp"
#include "gpu/onnx/weights.hpp"

namespace troupe::onnx {

struct executor::entry {
  uint32_t rows;
  std::unique_ptr<plan> ready;
};

namespace {

void check_outputs(const model& m, const plan& p, int64_t rows) {
  for (size_t i = 0; i < p.outputs.size(); ++i) m.check_output(i, p.outputs[i].type, p.outputs[i].dims, rows);
}

}  // namespace

void use_operator_threads(int n) { omp_set_num_threads(n); }

std::shared_ptr<weights> load_weights(const model& m) {
  auto w = std::make_shared<weights>(m.layers());
  for (size_t i = 0; i < m.layers().size(); ++i) w->load_layer(i, m.parameters(i));
  return w;
}

executor::executor(std::shared_ptr<const model> m, std::shared_ptr<weights> w, size_t max_plans)
    : model_(std::move(m)), weights_(std::move(w)), max_plans_(std::max<size_t>(max_plans, 1)) {}
executor::~executor() = default;
executor::executor(executor&&) noexcept = default;
executor& executor::operator=(executor&&) noexcept = default;

plan& executor::plan_for(uint32_t rows) {
  const auto found = std::ranges::find(plans_, rows, &entry::rows);
  if (found != plans_.end()) {
    plans_.splice(plans_.begin(), plans_, found);
  } else {
    auto fresh = make_plan(*model_, *weights_, rows);
    check_outputs(*model_, *fresh, rows);
    if (plans_.size() == max_plans_) plans_.pop_back();
    plans_.push_front({rows, std::move(fresh)});
  }
  return *plans_.front().ready;
}

void executor::warm(uint32_t rows) { plan_for(rows); }

double executor::flops(uint32_t rows) { return plan_for(rows).flops; }

void executor::check_ready(layer_range layers) const {
  if (!weights_->ready(layers.first, layers.last)) {
    throw model_error(fmt::format("{}: a layer of [{}, {}) is not loaded", model_->program().file,
                                  layers.first, layers.last));
  }
}

bool executor::run(uint32_t rows, std::span<const batch_part> parts, const std::atomic<bool>* stop) {
  const auto& signature = model_->signature();
  check_parts(signature, model_->program().file, rows, parts);
  const layer_range all{0, model_->layers().size()};
  check_ready(all);
  auto& p = plan_for(rows);
  gather_inputs(signature, parts, [&](size_t i) { return *p.inputs[i].data; });
  if (!p.run(all.first, all.last, stop)) return false;
  scatter_outputs(
      signature, [&](size_t i) { return *p.outputs[i].data; }, parts);
  return true;
}

activation executor::run(layer_range layers, const activation& in) {
  const size_t end = model_->layers().size();
  if (layers.first > layers.last || layers.last > end || in.empty() || in.front().dims.empty() ||
      in.front().dims.front() < 1 || in.front().dims.front() > UINT32_MAX) {
    throw model_error(fmt::format("{}: cannot run layers [{}, {}) of {} on this input",
                                  model_->program().file, layers.first, layers.last, end));
  }
  check_ready(layers);
  auto& p = plan_for(static_cast<uint32_t>(in.front().dims.front()));
  const auto ports_at = [&](size_t layer) {
    if (layer == 0) return std::span<const port>(p.inputs);
    return layer == end ? std::span<const port>(p.outputs)
                        : std::span<const port>(p.boundaries).subspan(layer, 1);
  };
  const auto enters = ports_at(layers.first);
  for (size_t i = 0; i < enters.size(); ++i) {
    if (in.size() != enters.size() || in[i].type != enters[i].type || in[i].dims != enters[i].dims) {
      throw model_error(fmt::format("{}: layer {} takes tensors of other types or shapes",
                                    model_->program().file, layers.first));
    }
    enters[i].write(in[i].data->data());
  }
  p.run(layers.first, layers.last);
  activation out;
  for (const auto& leaving : ports_at(layers.last)) {
    aligned_bytes bytes(leaving.bytes());
    leaving.read(bytes.data());
    out.push_back({leaving.type, leaving.dims, std::make_shared<const aligned_bytes>(std::move(bytes))});
  }
  return out;
}

}  // namespace troupe::onnx
