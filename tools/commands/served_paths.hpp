// The cluster file that `troupe serve PATH...` stands for: one node that serves ONNX files, model
// repositories of Triton, checkpoints and their adapters.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

struct serving_options {
  /// ONNX files; folders of them; models in Triton's layout, or folders of such (triton_model.hpp); folders
  /// of Hugging Face checkpoints, encoders among them; folders of LoRA adapters in PEFT's format, or with a
  /// subfolder for each. Adapters are those of the one checkpoint that is none of an encoder.
  std::vector<std::string> paths;
  uint16_t port = 8000;  ///< of HTTP, on loopback
  uint32_t threads = 1;  ///< of an inference or a step
  uint64_t kv_mb = 256;  ///< of each language model's KV cache
  double slo_ms = 1000;  ///< of tensor models and encoders
  /// Of inputs of ONNX models, as of `give_shapes` (served_file.hpp): "x=1x3x320x320".
  std::vector<std::string> shapes = {};
};

/// The API of a model's clients.
enum class served_task : uint8_t { tensors, completions, embeddings, scores };

struct served_name {
  std::string name;
  served_task task = served_task::tensors;
};

struct serving_plan {
  std::string cluster_file;  ///< its text; paths in it are absolute
  std::vector<served_name> models;
  std::vector<std::string> notes;  ///< what in the paths has no effect, a line each
};

/// Throws std::invalid_argument that names the path and the fix; several problems have a line each.
serving_plan plan_serving(const serving_options& options);

}  // namespace troupe
