// What a cluster file says of plug-ins, and what their actors say to each other.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"

namespace troupe {

/// The values of a plug-in's parameters: every one that it declared, within the bounds that it declared.
/// Asking for another name or type is a mistake of the plug-in: std::logic_error.
class plugin_settings {
 public:
  using value = std::variant<int64_t, double, std::string>;

  void set(std::string name, value v) { values_.emplace_back(std::move(name), std::move(v)); }

  int64_t integer(std::string_view name) const { return get<int64_t>(name); }
  double number(std::string_view name) const { return get<double>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }

 private:
  template <class T>
  const T& get(std::string_view name) const {
    for (const auto& [known, v] : values_)
      if (known == name)
        if (const auto* x = std::get_if<T>(&v)) return *x;
    throw std::logic_error("the parameter '" + std::string(name) + "' was not declared with this type");
  }

  std::vector<std::pair<std::string, value>> values_;
};

/// A library of [plugins]. Its position in the cluster file is its number, on all nodes the same.
struct plugin_spec {
  std::string name;     ///< as the library says
  std::string version;  ///< likewise
  std::string library;  ///< absolute path
  plugin_settings settings;
};

/// An [[actor]] of the cluster file: its position is the index of its address.
struct actor_spec {
  uint32_t plugin = 0;  ///< position in the cluster's plugins
  std::string kind;     ///< which of the plug-in's actors
  node_id node;
};

/// Between actors of plug-ins. `type` is `first_plugin_type(plugin)` plus a number of the plug-in's own, less
/// than `plugin_types`, so that no two plug-ins of a cluster take each other's messages for their own.
struct plugin_message {
  uint32_t type = 0;
  std::vector<uint8_t> body;  ///< the plug-in's own encoding
  TROUPE_MESSAGE(plugin_message, type, body)
  bool operator==(const plugin_message&) const = default;
};
inline constexpr uint32_t plugin_types = 256;
constexpr uint32_t first_plugin_type(uint32_t plugin) { return plugin_types * (plugin + 1); }

}  // namespace troupe
