#include "gpu/openvino/brief.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <regex>
#include <sstream>
#include <vector>

namespace troupe::vino {
namespace {

constexpr size_t max_line = 4000;  // std::regex takes stack in proportion

struct rewriting {
  std::regex from;
  const char* to;
};

const std::vector<rewriting>& rewritings() {
  static const std::vector<rewriting> all{
      {std::regex("Caught exception: "), ""},
      {std::regex("(Exception from|Check '.*' failed at) src/[^ ]*:[0-9]+:"), ""},  // places in its sources
      {std::regex("FrontEnd API failed with .*|Model wasn't fully converted.*|Summary:"), ""},
      {std::regex("-- (Conversion is failed for: .*|.* with a message:)"), ""},
      {std::regex("-- "), ""},
      {std::regex("While validating ONNX node '<Node\\((.*?)\\): (.*?)>':"), "node '$2' ($1):"},
      {std::regex("While validating node '.*' with friendly_name '(.*)':"), "node '$1':"},
      {std::regex("\\[CPU\\] (\\w+) node with name '(.*?)'"), "node '$2' ($1):"},
  };
  return all;
}

}  // namespace

std::string brief(const std::exception& e) {
  std::istringstream text(e.what());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    if (line.size() < max_line)
      for (const auto& r : rewritings()) line = std::regex_replace(line, r.from, r.to);
    const auto from = line.find_first_not_of(" \t"), to = line.find_last_not_of(" \t");
    if (from != std::string::npos) lines.push_back(line.substr(from, to - from + 1));
  }
  std::string out;
  for (const auto& line : lines)
    out += fmt::format("{}{}", out.empty() ? "" : out.ends_with(':') ? " " : "; ", line);
  return out.empty() ? "unknown error" : out;
}

}  // namespace troupe::vino
