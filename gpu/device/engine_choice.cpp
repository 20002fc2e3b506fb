#include "gpu/device/engine_choice.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "gpu/common/model_error.hpp"
#include "gpu/device/openvino.hpp"
#include "gpu/onnx/model.hpp"

namespace troupe {
namespace {

/// What the native engine does not do to a model.
bool changes_inputs(const model_source& source) {
  return !source.batched || !source.shapes.empty() || !source.constants.empty();
}

/// The reason why the native engine does not run the model; empty: it does. Throws unreadable_model.
std::string native_problem(const model_source& source) {
  if (changes_inputs(source))
    return fmt::format(
        "{}: models without batches, and shapes and constants of inputs, need the engine openvino, or auto",
        source.path);
  try {
    plan_on_cpu(onnx::model::load(source.path), source.max_batch);
    return {};
  } catch (const unreadable_model&) {
    throw;  // no engine reads it
  } catch (const model_error& e) {
    return e.what();
  }
}

}  // namespace

model_engine choose_engine(const model_source& source) {
  std::string problem;
  if (source.engine != model_engine::openvino) {
    problem = native_problem(source);
    if (problem.empty()) return model_engine::native;
    if (source.engine == model_engine::native) throw model_error(problem);
  }
  try {
    openvino_signature(source);
    return model_engine::openvino;
  } catch (const model_error& e) {
    if (problem.empty() || changes_inputs(source)) throw;
    throw model_error(fmt::format("{}; by OpenVINO: {}", problem, e.what()));
  }
}

model_maker on_chosen_engine(cpu_options o) {
  const int threads = o.threads;
  return [native = on_cpu(std::move(o)), other = on_openvino(threads)](const model_source& source) {
    return choose_engine(source) == model_engine::native ? native(source) : other(source);
  };
}

model_signature signature_of(const model_source& source) {
  return choose_engine(source) == model_engine::native ? onnx::model::load(source.path)->signature()
                                                       : openvino_signature(source);
}

}  // namespace troupe
