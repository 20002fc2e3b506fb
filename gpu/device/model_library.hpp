// Cache of the models that are open in this process.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gpu/device/device.hpp"

namespace troupe {

namespace onnx {
class model;
class weights;
}  // namespace onnx

/// Devices with the same library share the models of a path with the same shapes. Thread-safe. Throws
/// model_error.
class model_library {
 public:
  /// The model of the path's present content (native_model.hpp), cached while a caller holds it. Models are
  /// opened one at a time, so that devices that load the same one at once share it.
  std::shared_ptr<const onnx::model> model(const model_source& source);

  struct on_cpu {
    std::shared_ptr<const onnx::model> model;
    std::shared_ptr<onnx::weights> weights;
  };
  /// The same, with its parameters packed for the CPU. Models of a path whose parameters are equal, at other
  /// shapes, share them.
  on_cpu model_on_cpu(const model_source& source);

 private:
  struct entry {
    std::weak_ptr<const onnx::model> model;
    std::weak_ptr<onnx::weights> weights;
  };
  using shapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;
  using models = std::map<shapes, entry>;
  /// The models of a path's content, and the source's own.
  std::pair<models&, std::shared_ptr<const onnx::model>> find(const model_source& source);

  std::mutex mutex_;
  std::map<std::pair<std::string, std::filesystem::file_time_type>, models> paths_;
};

}  // namespace troupe
