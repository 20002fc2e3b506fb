// Cache of the model files that are open in this process.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace troupe {

namespace onnx {
class model;
class weights;
}  // namespace onnx

/// Devices with the same library share the models of a file. Thread-safe. Throws model_error.
class model_library {
 public:
  /// The model of the file's present content, cached while a caller holds it. Files are opened one at a time,
  /// so that devices that load the same file at once share it.
  std::shared_ptr<const onnx::model> model(const std::string& path);

  struct on_cpu {
    std::shared_ptr<const onnx::model> model;
    std::shared_ptr<onnx::weights> weights;
  };
  /// The same, with its parameters packed for the CPU.
  on_cpu model_on_cpu(const std::string& path);

 private:
  struct entry {
    std::weak_ptr<const onnx::model> model;
    std::weak_ptr<onnx::weights> weights;
  };
  std::pair<entry&, std::shared_ptr<const onnx::model>> find(const std::string& path);

  std::mutex mutex_;
  std::map<std::pair<std::string, std::filesystem::file_time_type>, entry> entries_;
};

}  // namespace troupe
