#include "tools/commands/model_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "config/reader.hpp"
#include "config/text_file.hpp"

namespace troupe {
namespace {

constexpr const char* command_line = "troupe";

/// The problem of a flag's value as TOML; empty: none.
std::string flag_problem(const std::string& key, const std::string& value) {
  reader alone(key + " = " + value + '\n', command_line);
  alone.root().ignore_rest();
  const bool right = value.find('\n') == std::string::npos && alone.finish().empty();
  return right ? "" : fmt::format("{}: must be a TOML value, not {}", flag_of(key), value);
}

/// Problems of the file alone: its syntax, and keys that are also flags.
std::vector<problem> file_problems(const std::string& text, const model_options& options) {
  reader alone(text, options.file);
  auto& root = alone.root();
  for (const auto& [key, value] : options.keys)
    if (root.has(key)) root.refuse(key, fmt::format("{} gives it too; remove one of the two", flag_of(key)));
  root.ignore_rest();
  return alone.finish();
}

}  // namespace

std::string flag_of(std::string key) {
  std::ranges::replace(key, '_', '-');
  return "--" + key;
}

model_reading read_model(const model_options& options, const cluster_spec& cluster) {
  model_reading out;
  std::string name = command_line, text;
  auto directory = std::filesystem::current_path();
  if (!options.file.empty()) {
    name = options.file;
    auto read = read_text_file(name);
    if (!read.error.empty()) {
      out.problems = {about_file(name, read.error)};
      return out;
    }
    text = std::move(read.content);
    directory = std::filesystem::absolute(name).parent_path();
    if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // only valid at the beginning of the text
    out.problems = file_problems(text, options);
  }
  // Flags go before the file, which may end within a table of its own. They follow an empty line, so that
  // problems of the table as a whole (line 1) are not attributed to a flag.
  std::string flags = "\n";
  for (const auto& [key, value] : options.keys) {
    if (const auto wrong = flag_problem(key, value); !wrong.empty())
      out.problems.push_back(about_file(command_line, wrong));
    flags += fmt::format("{} = {}\n", key, value);
  }
  if (!out.ok()) return out;  // the concatenation might not be TOML, or be so by accident
  const auto before = static_cast<uint32_t>(options.keys.size() + 1);
  out = read_model_text(flags + text, name, cluster, directory);
  for (auto& p : out.problems) {
    if (p.where.file != name) continue;
    if (p.where.line > before)
      p.where.line -= before;
    else if (p.where.line > 1 || options.file.empty())
      p.where = {command_line, 0, 0};
  }
  return out;
}

}  // namespace troupe
