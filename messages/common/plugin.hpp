// Plug-ins in a cluster file, and the message that their actors exchange.
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

/// Values of a plug-in's parameters: all that it declared, within their declared bounds. Asking for another
/// name or type is an error of the plug-in: std::logic_error.
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

/// A library of [plugins]. Its position in the cluster file is its number, the same on all nodes.
struct plugin_spec {
  std::string name;     ///< from the library's descriptor
  std::string version;  ///< likewise
  std::string library;  ///< absolute path
  plugin_settings settings;
};

/// An [[actor]] of the cluster file. Its position is the index of its address.
struct actor_spec {
  uint32_t plugin = 0;  ///< position in the cluster's plugins
  std::string kind;     ///< name of one of the plug-in's actors
  node_id node;
};

/// Message between actors of plug-ins. `type` is `first_plugin_type(plugin)` plus a number of the plug-in's
/// own below `plugin_types`, so the messages of two plug-ins cannot be confused.
struct plugin_message {
  uint32_t type = 0;
  std::vector<uint8_t> body;  ///< the plug-in's own encoding
  TROUPE_MESSAGE(plugin_message, type, body)
  bool operator==(const plugin_message&) const = default;
};
inline constexpr uint32_t plugin_types = 256;
constexpr uint32_t first_plugin_type(uint32_t plugin) { return plugin_types * (plugin + 1); }

/// Commands to an actor of a plug-in are known to its plug-in only (plugins/protocol.hpp).
using extension_commands = type_list<>;

}  // namespace troupe
