#include "config/onnx_file.hpp"

#include <fmt/format.h>

#include <fstream>

#include "config/text_file.hpp"

namespace troupe {

std::string onnx_file_problem(const std::filesystem::path& file) {
  if (auto why = reading_problem(file); !why.empty()) return why;
  std::error_code failed;
  const auto size = std::filesystem::file_size(file, failed);
  if (!failed && size > max_onnx_bytes)
    return fmt::format(
        "has {} bytes; an ONNX file has at most {} (2 GiB, protobuf's limit); give the path of an ONNX file",
        size, max_onnx_bytes);
  // no field of a protobuf message has the number 0
  if (std::ifstream{file, std::ios::binary}.peek() == 0)
    return "begins with a zero byte, as no ONNX file does; give the path of an ONNX file, or write it again";
  return {};
}

}  // namespace troupe
