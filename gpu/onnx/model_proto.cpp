#include "gpu/onnx/model_proto.hpp"

#include <fmt/format.h>

#include <fstream>
#include <system_error>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/loader.hpp"

namespace troupe::onnx {

::onnx::ModelProto read_model_proto(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) throw unreadable_model(fmt::format("{}: {}", path.string(), error.message()));
  if (size > max_file_bytes) {
    throw unreadable_model(
        fmt::format("{}: has {} bytes; an ONNX file has at most {} (2 GiB, protobuf's limit)", path.string(),
                    size, max_file_bytes));
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) throw unreadable_model(fmt::format("{}: cannot be read", path.string()));
  ::onnx::ModelProto model;
  if (!model.ParseFromIstream(&in)) {  // ends at the first byte that is no protobuf
    throw unreadable_model(fmt::format("{}: {}", path.string(), in.bad() ? "cannot be read" : not_a_model));
  }
  return model;
}

}  // namespace troupe::onnx
