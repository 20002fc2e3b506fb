// Model definition, from a [[model]] table of the cluster file or a deployment at run time.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "messages/common/message.hpp"
#include "messages/tensor/image_input.hpp"
#include "messages/tensor/latency.hpp"
#include "messages/tensor/model_engine.hpp"
#include "messages/tensor/model_inputs.hpp"

namespace troupe {

/// Source of a model's latency profile.
enum class profile_origin : uint16_t { given, file, measured };
inline constexpr size_t profile_origin_count = 3;
std::string_view to_string(profile_origin o);

/// Validated (config/), with every default filled in. It travels between nodes when a model is deployed at
/// run time, so each new field also belongs into the Cap'n Proto schema.
struct model_spec {
  std::string name;
  std::string path;                               ///< ONNX file, absolute; empty: emulated only
  model_engine engine = model_engine::automatic;  ///< on CPUs
  /// Of `automatic`: by the file, once, where the model is accepted. Still automatic: not decided.
  model_engine decided_engine = model_engine::automatic;
  bool bf16 = false;                ///< openvino: compute in bf16 instead of f32
  bool batched = true;              ///< false: requests run one by one, max_batch is 1
  std::vector<input_shape> shapes;  ///< of dynamic inputs: of a row, or whole if not batched
  bool any_shape = false;           ///< other dimensions stay free
  std::vector<input_constant> constants;
  std::vector<image_input> images;  ///< one at most
  duration slo{};
  profile_origin origin = profile_origin::measured;
  latency_model latency;     ///< zero when measured
  uint32_t max_batch = 64;   ///< rows
  uint32_t input_bytes = 0;  ///< a row, for emulated models without a file
  uint32_t output_bytes = 0;
  double weight = 1;          ///< share of the load if the workload gives none
  uint32_t domain = 0;        ///< initial scheduling domain, by position in the cluster file
  uint64_t memory_bytes = 0;  ///< of its parameters on a device, for the placer; 0: unknown
  uint64_t batch_bytes = 0;   ///< likewise of its largest batch while it runs

  /// The engine that runs it on CPUs; automatic: not decided.
  model_engine runs_by() const { return engine == model_engine::automatic ? decided_engine : engine; }

  TROUPE_MESSAGE(model_spec, name, path, engine, decided_engine, bf16, batched, shapes, any_shape, constants,
                 images, slo, origin, latency, max_batch, input_bytes, output_bytes, weight, domain,
                 memory_bytes, batch_bytes)
  bool operator==(const model_spec&) const = default;
};

}  // namespace troupe
