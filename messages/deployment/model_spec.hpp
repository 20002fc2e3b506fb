// A model as a [[model]] table of the cluster file, or a deployment at run time, describes it.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "messages/common/message.hpp"
#include "messages/tensor/latency.hpp"

namespace troupe {

/// Where a model's latency comes from.
enum class profile_origin : uint16_t { given, file, measured };
inline constexpr size_t profile_origin_count = 3;
std::string_view to_string(profile_origin o);

/// After validation (config/), with every default filled in. Travels between nodes when a model is deployed
/// at run time: whoever adds a field adds it to the schema, too.
struct model_spec {
  std::string name;
  std::string path;  ///< ONNX file, absolute; empty: emulated only
  duration slo{};
  profile_origin origin = profile_origin::measured;
  latency_model latency;     ///< zero when measured
  uint32_t max_batch = 64;   ///< rows
  uint32_t input_bytes = 0;  ///< a row, for emulated models without a file
  uint32_t output_bytes = 0;
  double weight = 1;          ///< share of the load when a workload names none
  uint32_t domain = 0;        ///< of the cluster file's, where it is served at first
  uint64_t memory_bytes = 0;  ///< of its parameters on a device, for the placer; 0: not known
  uint64_t batch_bytes = 0;   ///< likewise of its largest batch while it runs

  TROUPE_MESSAGE(model_spec, name, path, slo, origin, latency, max_batch, input_bytes, output_bytes, weight,
                 domain, memory_bytes, batch_bytes)
  bool operator==(const model_spec&) const = default;
};

}  // namespace troupe
