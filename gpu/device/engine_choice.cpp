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

/// An encoder that no ONNX file runs.
bool has_safetensors(const model_source& source) {
  return is_encoder_folder(source.path) && encoder_onnx_file(source.path).empty();
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

bool is_decided(const model_source& source) {
  return source.engine == model_engine::automatic && source.decided_engine != model_engine::automatic;
}

/// What `load` returns. Its failure names a decision that this node would not take.
template <class Load>
auto as_decided(const model_source& source, Load load) {
  try {
    return load();
  } catch (const unreadable_model&) {
    throw;
  } catch (const model_error& e) {
    if (!is_decided(source)) throw;
    const auto here = decide_engine(source);
    if (here == source.decided_engine) throw;
    throw model_error(fmt::format(
        "{}; the deployment log has the engine {} for it, and this node would choose {}: start all "
        "nodes from the same build with the same file, or undeploy and deploy the model",
        e.what(), to_string(source.decided_engine), to_string(here)));
  }
}

}  // namespace

model_engine decide_engine(const model_source& source) {
  return has_safetensors(source) || native_problem(source).empty() ? model_engine::native
                                                                   : model_engine::openvino;
}

model_engine choose_engine(const model_source& source) {
  std::string problem;
  if (has_safetensors(source)) {
    if (source.engine != model_engine::openvino) return model_engine::native;
    throw model_error(fmt::format(
        "{}: OpenVINO reads ONNX files; the engine native runs this encoder's safetensors", source.path));
  }
  const bool decided = is_decided(source);
  if (decided && source.decided_engine == model_engine::native) return model_engine::native;
  if (!decided && source.engine != model_engine::openvino) {
    problem = native_problem(source);
    if (problem.empty()) return model_engine::native;
    if (source.engine == model_engine::native) throw model_error(problem);
  }
  try {
    openvino_signature(source);
    return model_engine::openvino;
  } catch (const model_error& e) {
    if (decided) problem = native_problem(source);
    if (problem.empty() || only_openvino(source)) throw;
    throw model_error(fmt::format("{}; by OpenVINO: {}", problem, e.what()));
  }
}

model_maker on_chosen_engine(cpu_options o) {
  const int threads = o.threads;
  return [native = on_cpu(std::move(o)), other = on_openvino(threads)](const model_source& source) {
    return as_decided(source, [&] {
      return choose_engine(source) == model_engine::native ? native(source) : other(source);
    });
  };
}

model_signature signature_of(const model_source& source) {
  return choose_engine(source) == model_engine::native ? open_native(source)->signature()
                                                       : openvino_signature(source);
}

}  // namespace troupe
