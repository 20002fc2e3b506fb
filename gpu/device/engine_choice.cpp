#include "gpu/device/engine_choice.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "gpu/checkpoint/encoder_folder.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/device/native_model.hpp"
#include "gpu/device/openvino.hpp"
#include "gpu/onnx/model.hpp"

namespace troupe {
namespace {

/// What the native engine does not do to a model.
bool only_openvino(const model_source& source) {
  return !source.batched || source.any_shape || !source.constants.empty();
}

/// The reason why the native engine does not run the model; empty: it does. Throws unreadable_model.
std::string native_problem(const model_source& source) {
  if (only_openvino(source))
    return fmt::format(
        "{}: models without batches, any_shape, and constants of inputs need the engine openvino, or auto",
        source.path);
  try {
    plan_on_cpu(open_native(source), source.max_batch);
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
  if (is_encoder_folder(source.path) && encoder_onnx_file(source.path).empty()) {
    if (source.engine != model_engine::openvino) return model_engine::native;
    throw model_error(fmt::format(
        "{}: OpenVINO reads ONNX files; the engine native runs this encoder's safetensors", source.path));
  }
  if (source.engine != model_engine::openvino) {
    problem = native_problem(source);
    if (problem.empty()) return model_engine::native;
    if (source.engine == model_engine::native) throw model_error(problem);
  }
  try {
    openvino_signature(source);
    return model_engine::openvino;
  } catch (const model_error& e) {
    if (problem.empty() || only_openvino(source)) throw;
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
  return choose_engine(source) == model_engine::native ? open_native(source)->signature()
                                                       : openvino_signature(source);
}

}  // namespace troupe
