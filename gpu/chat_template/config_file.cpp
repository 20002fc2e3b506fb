#include "gpu/chat_template/config_file.hpp"

#include "gpu/common/is_missing.hpp"
#include "gpu/common/mapped_file.hpp"
#include "gpu/common/model_error.hpp"
#include "messages/common/parse_json.hpp"

namespace troupe::llm {

namespace {

using nlohmann::json;

constexpr size_t max_file_bytes = size_t{64}
                                  << 20;  // tokenizer_config.json lists added tokens; those are large

}  // namespace

std::optional<std::string> read_config_text(const std::filesystem::path& file) {
  if (is_missing(file)) return std::nullopt;
  return read_text(file, max_file_bytes);
}

json read_config_object(const std::filesystem::path& file) {
  const auto text = read_config_text(file);
  if (!text) return nullptr;
  auto config = parse_json(*text);
  if (!config.is_object()) throw model_error(file.string() + ": is not a JSON object");
  return config;
}

}  // namespace troupe::llm
