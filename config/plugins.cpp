#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <variant>

#include "config/sections.hpp"
#include "plugins/loader.hpp"

namespace troupe {

namespace {

plugin_settings::value read_parameter(section& s, const plugin_parameter& p) {
  return std::visit(
      [&]<class Kind>(const Kind& k) -> plugin_settings::value {
        if constexpr (std::is_same_v<Kind, plugin_parameter::integer>)
          return s.integer(p.key, k.min, k.max, k.fallback);
        else if constexpr (std::is_same_v<Kind, plugin_parameter::number>)
          return s.number(p.key, k.unit, k.min, k.max, k.fallback);
        else
          return s.text(p.key, k.fallback);
      },
      p.kind);
}

}  // namespace

plugin_reading read_plugins(section& root, const std::filesystem::path& directory) {
  plugin_reading out;
  auto* s = root.table("plugins");
  if (s == nullptr) return out;
  std::vector<std::string> paths;
  std::string meaning;  // the path of a library may differ between nodes; its description counts
  for (const auto& library : s->texts("libraries")) {
    try {
      const auto& p = load_plugin(directory / library);
      if (std::find(paths.begin(), paths.end(), p.library) != paths.end()) {
        s->refuse("libraries", fmt::format("names {} twice; remove one", p.library));
        continue;
      }
      out.plugins.push_back({p.name, p.version, p.library, {}});
      paths.push_back(p.library);
      meaning += fmt::format("{} {}, ", p.name, p.version);
      auto& table = s->table_or_empty(p.name);
      for (const auto& parameter : p.parameters)
        out.plugins.back().settings.set(parameter.key, read_parameter(table, parameter));
    } catch (const plugin_error& e) {
      out.complete = false;
      s->refuse("libraries", e.what());
    }
  }
  if (!out.complete) s->ignore_rest();
  if (s->has("libraries")) {
    auto& record = s->recorded("libraries");
    record.value = std::move(paths);
    record.meaning = meaning.empty() ? "none" : meaning;
  }
  return out;
}

std::vector<actor_spec> read_actors(section& root, const cluster_spec& cluster, bool complete) {
  std::vector<std::string_view> plugins, nodes;
  for (const auto& p : cluster.plugins) plugins.push_back(p.name);
  for (const auto& n : cluster.nodes) nodes.push_back(n.name);
  std::vector<actor_spec> out;
  for (auto* s : root.tables("actor")) {
    if (!complete) {
      s->ignore_rest();
      continue;
    }
    actor_spec a;
    const auto plugin = s->choice("plugin", plugins);
    std::vector<std::string_view> kinds;
    if (plugin) {
      a.plugin = static_cast<uint32_t>(*plugin);
      const auto& brought = load_plugin(cluster.plugins[*plugin].library).actors;
      kinds.assign(brought.begin(), brought.end());
    }
    if (!plugin)
      s->unused("kind");
    else if (const auto kind = s->choice("kind", kinds))
      a.kind = kinds[*kind];
    if (const auto node = s->choice("node", nodes)) a.node = node_id{static_cast<uint32_t>(*node)};
    out.push_back(std::move(a));
  }
  return out;
}

}  // namespace troupe
