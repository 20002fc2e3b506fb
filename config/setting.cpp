#include "config/setting.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/problem.hpp"
#include "messages/common/json_text.hpp"

namespace troupe {

namespace {

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

/// Shortest text that reads back to the same number: 50 for 50.0, so that both have the same hash.
std::string literal(const setting_value& value) {
  return std::visit(
      overloaded{[](bool x) { return std::string(x ? "true" : "false"); },
                 [](int64_t x) { return fmt::format("{}", x); },
                 [](double x) { return fmt::format("{}", x); },
                 [](const std::string& x) { return in_quotes(x); },
                 [](const std::vector<std::string>& xs) {
                   std::string out = "[";
                   for (const auto& x : xs) out += (out.size() > 1 ? ", " : "") + in_quotes(x);
                   return out + "]";
                 },
                 [](const std::vector<double>& xs) { return fmt::format("[{}]", fmt::join(xs, ", ")); }},
      value);
}

void write_toml(const setting_table& table, const std::string& path, std::string& out) {
  std::vector<std::string> lines;
  size_t width = 0;
  for (const auto& s : table.settings) {
    lines.push_back(fmt::format("{} = {}", s.key, literal(s.value)));
    if (lines.back().size() <= 60) width = std::max(width, lines.back().size());
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    out += fmt::format("{:<{}}  # {}\n", lines[i], width, table.settings[i].origin);
  }
  for (const auto& child : table.tables) {
    const auto name = path.empty() ? child.name : path + "." + child.name;
    out += child.repeated ? fmt::format("\n[[{}]]\n", name) : fmt::format("\n[{}]\n", name);
    write_toml(child, name, out);
  }
}

nlohmann::ordered_json json_of(const setting_table& table) {
  auto out = nlohmann::ordered_json::object();
  for (const auto& s : table.settings) {
    std::visit([&](const auto& x) { out[s.key] = {{"value", x}, {"origin", s.origin}}; }, s.value);
  }
  for (const auto& child : table.tables) {
    if (child.repeated) {
      out[child.name].push_back(json_of(child));
    } else {
      out[child.name] = json_of(child);
    }
  }
  return out;
}

void write_meaning(const setting_table& table, std::string& out) {
  for (const auto& s : table.settings) {
    out += fmt::format("{} = {}\n", s.key, s.meaning.empty() ? literal(s.value) : s.meaning);
  }
  for (const auto& child : table.tables) {
    out += child.name + " {\n";
    write_meaning(child, out);
    out += "}\n";
  }
}

}  // namespace

std::string to_toml(const setting_table& root) {
  std::string out;
  write_toml(root, "", out);
  return out;
}

std::string to_json(const setting_table& root) { return json_text(json_of(root), 2) + '\n'; }

std::string meaning(const setting_table& root) {
  std::string out;
  write_meaning(root, out);
  return out;
}

}  // namespace troupe
