#include "gpu/device/model_library.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/checkpoint/encoder_folder.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/device/native_model.hpp"
#include "gpu/onnx/executor.hpp"
#include "gpu/onnx/model.hpp"
#include "gpu/onnx/weights.hpp"

namespace troupe {

namespace {

/// Of a file, or of the files of an encoder's folder. Throws model_error.
std::filesystem::file_time_type written_at(const std::string& path) {
  std::error_code error;
  auto newest = std::filesystem::last_write_time(path, error);
  if (error) throw model_error(fmt::format("{}: {}", path, error.message()));
  if (!std::filesystem::is_directory(path, error)) return newest;
  for (const auto& file : std::filesystem::directory_iterator(path, error))
    if (const auto written = file.last_write_time(error); !error) newest = std::max(newest, written);
  if (const auto onnx = encoder_onnx_file(path); !onnx.empty())  // perhaps in a folder of its own
    if (const auto written = std::filesystem::last_write_time(onnx, error); !error)
      newest = std::max(newest, written);
  return newest;
}

auto shapes_of(const model_source& source) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> out;
  for (const auto& s : source.shapes) out.emplace_back(s.name, s.dims);
  return out;
}

}  // namespace

std::pair<model_library::models&, std::shared_ptr<const onnx::model>> model_library::find(
    const model_source& source) {
  auto& all = paths_[{source.path, written_at(source.path)}];
  auto& known = all[shapes_of(source)];
  auto found = known.model.lock();
  if (found) return {all, std::move(found)};
  std::shared_ptr<const onnx::model> other;
  for (auto& [_, e] : all)
    if (other == nullptr) other = e.model.lock();
  known.model = found = open_native(source, other.get());
  return {all, std::move(found)};
}

std::shared_ptr<const onnx::model> model_library::model(const model_source& source) {
  const std::scoped_lock lock(mutex_);
  return find(source).second;
}

model_library::on_cpu model_library::model_on_cpu(const model_source& source) {
  const std::scoped_lock lock(mutex_);
  auto [all, model] = find(source);
  auto& known = all[shapes_of(source)];
  auto weights = known.weights.lock();
  for (auto& [_, e] : all) {
    if (weights != nullptr) break;
    const auto other = e.model.lock();
    if (other != nullptr && other->layers() == model->layers()) weights = e.weights.lock();
  }
  if (weights == nullptr) weights = onnx::load_weights(*model);
  known.weights = weights;
  return {std::move(model), std::move(weights)};
}

}  // namespace troupe
