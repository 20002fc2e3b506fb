// Model files that are open in this process.
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

/// Devices that share one share what they have of a file. Thread-safe. Throws model_error.
class model_library {
 public:
  /// The file as it is now; kept as long as somebody has it. Opening takes turns, so that devices that load
  /// the same file at once share it.
  std::shared_ptr<const onnx::model> model(const std::string& path);

  struct on_cpu {
    std::shared_ptr<const onnx::model> model;
    std::shared_ptr<onnx::weights> weights;
  };
  /// Likewise, with its parameters as CPUs want them.
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
