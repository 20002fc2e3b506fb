#include "tools/common/one_device.hpp"

#include <fmt/format.h>

#include "gpu/common/model_error.hpp"
#include "gpu/device/engine_choice.hpp"
#include "tools/common/input_flags.hpp"
#ifdef TROUPE_CUDA
#include "gpu/device/cuda_device.hpp"
#endif

namespace troupe {
namespace {

model_maker one_gpu([[maybe_unused]] const device_choice& choice) {
#ifdef TROUPE_CUDA
  return on_cuda({.gpu = static_cast<int>(choice.gpu.value_or(0)), .exact = choice.exact});
#else
  throw model_error("--device cuda: this build has no CUDA; configure it with -DTROUPE_CUDA=ON, or use cpu");
#endif
}

model_engine engine_of(const device_choice& choice) {
  for (const auto e : {model_engine::automatic, model_engine::native, model_engine::openvino})
    if (choice.engine == to_string(e)) return e;
  throw model_error(fmt::format("--engine {}: must be auto, native or openvino", choice.engine));
}

/// The parts of a source that flags say.
model_source source_by(const device_choice& choice) {
  model_source s;
  s.engine = engine_of(choice);
  s.bf16 = choice.bf16;
  if (s.bf16 && s.engine != model_engine::openvino)
    throw model_error("--bf16: only OpenVINO computes in bf16; add --engine openvino");
  for (const auto& text : choice.shapes) s.shapes.push_back(parse_shape_flag(text));
  s.batched = s.shapes.empty();
  for (const auto& text : choice.constants) s.constants.push_back(parse_constant_flag(text));
  return s;
}

}  // namespace

model_maker one_device(const device_choice& choice) {
  if (choice.device == "cuda") {
    if (choice.engine != "auto" || choice.bf16 || !choice.shapes.empty() || !choice.constants.empty())
      throw model_error("--engine, --bf16, --shape, --constant: are for --device cpu");
    return one_gpu(choice);
  }
  if (choice.device != "cpu")
    throw model_error(fmt::format("--device {}: must be cpu or cuda", choice.device));
  if (choice.gpu) throw model_error("--gpu: is for --device cuda; add that, or remove this flag");
  if (choice.exact)
    throw model_error(
        "--exact: is for --device cuda, as a cpu is always exact; add that, or remove this flag");
  const auto said = source_by(choice);
  return [said, load = on_chosen_engine()](const model_source& source) {
    auto whole = said;
    whole.name = source.name;
    whole.path = source.path;
    whole.max_batch = source.max_batch;
    return load(whole);
  };
}

std::string title_of(const device_choice& choice) {
  return choice.device == "cuda" ? fmt::format("GPU {}", choice.gpu.value_or(0)) : "cpu, one core";
}

}  // namespace troupe
