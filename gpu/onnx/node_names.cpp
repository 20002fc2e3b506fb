#include "gpu/onnx/node_names.hpp"

#include <map>
#include <string_view>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/graph.hpp"
#include "gpu/onnx/model_proto.hpp"

namespace troupe::onnx {
namespace {

namespace proto = ::onnx;

using node_titles = std::map<std::string, std::string, std::less<>>;

void collect_titles(const proto::GraphProto& g, node_titles& out) {
  for (const auto& n : g.node()) {
    const auto title = describe({n.name(), n.op_type(), {}, {n.output().begin(), n.output().end()}, {}});
    for (const auto& o : n.output()) out.emplace(o, title);
    for (const auto& a : n.attribute()) {
      if (a.has_g()) collect_titles(a.g(), out);
      for (const auto& inner : a.graphs()) collect_titles(inner, out);
    }
  }
  for (const auto& n : g.node())
    if (!n.name().empty()) out.emplace(n.name(), describe({n.name(), n.op_type(), {}, {}, {}}));
}

}  // namespace

std::string with_node_names(const std::string& message, const std::filesystem::path& file) {
  constexpr std::string_view before = "node '", after = "' (";
  if (message.find(before) == std::string::npos) return message;
  node_titles known;
  try {
    collect_titles(read_model_proto(file).graph(), known);
  } catch (const model_error&) {
    return message;
  }
  std::string out;
  size_t done = 0;
  for (size_t at = 0; (at = message.find(before, at)) != std::string::npos;) {
    const auto name = at + before.size(), end = message.find(after, name), close = message.find(')', end);
    if (end == std::string::npos || close == std::string::npos) break;
    const auto found = known.find(std::string_view(message).substr(name, end - name));
    out += message.substr(done, at - done);
    out += found == known.end() ? message.substr(at, close + 1 - at) : found->second;
    at = done = close + 1;
  }
  return out + message.substr(done);
}

}  // namespace troupe::onnx
