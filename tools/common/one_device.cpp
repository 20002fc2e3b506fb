#include "tools/common/one_device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "gpu/device/engine_choice.hpp"
#include "tools/common/fixed_batch.hpp"
#include "tools/common/input_flags.hpp"
#include "tools/common/way_to_run.hpp"
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
  for (const auto& text : choice.constants) s.constants.push_back(parse_constant_flag(text));
  return s;
}

/// Whole shapes as those of a batch, for the native engine.
std::unique_ptr<batch_model> load_batch(const model_maker& load, model_source source) {
  const auto rows_of = [](const input_shape& s) { return s.dims.empty() ? 0 : s.dims.front(); };
  const auto rows = rows_of(source.shapes.front());
  for (auto& s : source.shapes) {
    if (rows == 0 || rows > UINT32_MAX || rows_of(s) != rows)
      throw model_error(
          fmt::format("{}: --shape {}={}: the native engine takes batches, whose inputs have "
                      "the same first dimension",
                      source.path, s.name, fmt::join(s.dims, "x")));
    s.dims.erase(s.dims.begin());
  }
  source.engine = model_engine::native;
  source.max_batch = static_cast<uint32_t>(rows);
  return std::make_unique<fixed_batch>(load(source), source.max_batch);
}

/// Whether the size of a request tells its shape.
bool has_known_shape(const model_signature& s) {
  return std::ranges::none_of(s.inputs, [](const tensor_spec& t) {
    return std::any_of(t.shape.begin() + (t.shape.empty() ? 0 : 1), t.shape.end(),
                       [](int64_t d) { return d < 0; });
  });
}

std::unique_ptr<batch_model> load_on_cpu(const model_maker& load, model_source source) {
  if (!source.shapes.empty() && source.engine != model_engine::openvino && source.constants.empty()) {
    try {
      return load_batch(load, source);
    } catch (const unreadable_model&) {
      throw;
    } catch (const model_error& e) {
      if (source.engine == model_engine::native)
        throw model_error(fmt::format("{}; --engine openvino or auto may run the shapes", e.what()));
    }
  }
  const bool any = source.shapes.empty();
  auto ways = any ? std::vector{way_to_run::batches} : std::vector<way_to_run>{};
  ways.insert(ways.end(), {way_to_run::whole, way_to_run::any_shape});
  return first_way_that_runs(source, ways, [&](const model_source& way) {
    auto model = load(way);
    if (!has_known_shape(model->signature()))
      throw model_error(
          fmt::format("{}: give the whole shapes of the inputs: --shape NAME=1x3x224x224", way.path));
    return model;
  });
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
    return load_on_cpu(load, whole);
  };
}

std::string title_of(const device_choice& choice) {
  return choice.device == "cuda" ? fmt::format("GPU {}", choice.gpu.value_or(0)) : "cpu, one core";
}

}  // namespace troupe
