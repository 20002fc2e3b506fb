#include "config/triton/model_config_text.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <optional>

namespace troupe::triton {
namespace {

namespace pb = google::protobuf;

constexpr size_t max_config_bytes = 1 << 20;
constexpr int max_depth = 32;

file_position place_at(const std::string& file, int line, int column) {
  return {file, static_cast<uint32_t>(line + 1), static_cast<uint32_t>(column + 1)};
}

/// Keeps the first error.
class first_error final : public pb::io::ErrorCollector {
 public:
  struct message {
    int line = 0, column = 0;
    std::string text;
  };
  std::optional<message> error;

  void AddError(int line, int column, const std::string& text) override {
    if (!error) error = {line, column, text};
  }
};

}  // namespace

std::optional<problem> parse_model_config(std::string_view text, const std::string& file,
                                          model_config_text& out) {
  if (text.size() > max_config_bytes)
    return about_file(file, fmt::format("has {} bytes; a model configuration has at most {}", text.size(),
                                        max_config_bytes));
  first_error messages;
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&messages);
  parser.WriteLocationsTo(&out.places);
  parser.SetRecursionLimit(max_depth);
  pb::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  const bool parsed = parser.Parse(&stream, &out.message);
  if (messages.error || !parsed) {
    const auto first = messages.error.value_or(first_error::message{0, 0, "is not protobuf's text format"});
    return problem{place_at(file, first.line, first.column), first.text};
  }
  return std::nullopt;
}

file_position place_of(const place_tree& tree, const pb::FieldDescriptor* field, int index,
                       const std::string& file) {
  auto at = tree.GetLocation(field, index);
  if (at.line < 0 && index > 0) at = tree.GetLocation(field, 0);
  return at.line < 0 ? file_position{file} : place_at(file, at.line, at.column);
}

}  // namespace troupe::triton
