#include "gpu/device/model_library.hpp"

#include <fmt/format.h>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/executor.hpp"
#include "gpu/onnx/model.hpp"
#include "gpu/onnx/weights.hpp"

namespace troupe {

std::pair<model_library::entry&, std::shared_ptr<const onnx::model>> model_library::find(
    const std::string& path) {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(path, error);
  if (error) throw model_error(fmt::format("{}: {}", path, error.message()));
  auto& known = entries_[{path, written}];
  auto found = known.model.lock();
  if (!found) known.model = found = onnx::model::load(path);
  return {known, std::move(found)};
}

std::shared_ptr<const onnx::model> model_library::model(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  return find(path).second;
}

model_library::on_cpu model_library::model_on_cpu(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  auto [known, model] = find(path);
  auto weights = known.weights.lock();
  if (!weights) known.weights = weights = onnx::load_weights(*model);
  return {std::move(model), std::move(weights)};
}

}  // namespace troupe
