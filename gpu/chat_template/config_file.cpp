#include "gpu/chat_template/config_file.hpp"

#include <fmt/format.h>

#include <fstream>
#include <string_view>

#include "gpu/common/is_missing.hpp"
#include "gpu/common/model_error.hpp"
#include "messages/common/parse_json.hpp"

namespace troupe::llm {

namespace {

using nlohmann::json;

constexpr size_t max_file_bytes = size_t{64}
                                  << 20;  // tokenizer_config.json lists added tokens; those are large

[[noreturn]] void fail(const std::filesystem::path& file, std::string_view what) {
  throw model_error(fmt::format("{}: {}", file.string(), what));
}

}  // namespace

std::optional<std::string> read_config_text(const std::filesystem::path& file) {
  if (is_missing(file)) return std::nullopt;
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (error) fail(file, fmt::format("cannot be read: {}", error.message()));
  if (size > max_file_bytes)
    fail(file, fmt::format("has {} bytes; at most {} are read", size, max_file_bytes));
  std::ifstream in(file, std::ios::binary);
  std::string text(size, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(size))) fail(file, "cannot be read");
  return text;
}

json read_config_object(const std::filesystem::path& file) {
  const auto text = read_config_text(file);
  if (!text) return nullptr;
  auto config = parse_json(*text);
  if (!config.is_object()) fail(file, "is not a JSON object");
  return config;
}

}  // namespace troupe::llm
