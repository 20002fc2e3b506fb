// The descriptor of a plug-in: its name, and the versions and toolchain that it was built with. It is an ELF
// section of the library, so that the loader checks it before any code of the library runs (loader.hpp).
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>
#include <version>

#include "messages/common/version.hpp"

namespace troupe {

/// Version of plugin.hpp and the headers that it includes. Every change that breaks plug-ins increments it,
/// between releases too.
inline constexpr uint32_t plugin_abi = 3;

#define TROUPE_TEXT_(x) #x
#define TROUPE_TEXT(x) TROUPE_TEXT_(x)
#ifdef _GLIBCXX_DEBUG
#define TROUPE_DEBUG_STRINGS ", debug mode"
#else
#define TROUPE_DEBUG_STRINGS ""
#endif
#if defined(__clang__)
#define TROUPE_COMPILER "clang " TROUPE_TEXT(__clang_major__)
#else
#define TROUPE_COMPILER "gcc " TROUPE_TEXT(__GNUC__)
#endif
/// Program and plug-in pass containers and closures to each other, so both need the same layout of them.
#define TROUPE_TOOLCHAIN                                                                          \
  TROUPE_COMPILER                                                                                 \
  ", libstdc++ " TROUPE_TEXT(_GLIBCXX_RELEASE) " (C++11 ABI " TROUPE_TEXT(_GLIBCXX_USE_CXX11_ABI) \
      TROUPE_DEBUG_STRINGS ")"

/// Strings end with a NUL.
struct plugin_descriptor {
  static constexpr std::string_view magic_text = "troupe plug-in";
  char magic[16];
  uint32_t abi;
  uint32_t caf;  ///< CAF_VERSION if the plug-in includes CAF's headers before plugin.hpp, else 0
  char troupe[16];
  char toolchain[64];
  char name[64];  ///< letters, digits, '_', '-': the plug-in's table in the cluster file is [plugins.NAME]
  char version[32];
};
static_assert(sizeof(plugin_descriptor) == 200);

#ifdef CAF_VERSION
#define TROUPE_PLUGIN_CAF CAF_VERSION
#else
#define TROUPE_PLUGIN_CAF 0
#endif

/// Does not compile if a string is too long.
consteval plugin_descriptor describe_plugin(std::string_view name, std::string_view its_version,
                                            uint32_t caf) {
  plugin_descriptor d{};
  const auto put = [](auto& to, std::string_view text) {
    if (text.size() >= sizeof to) throw "too long";
    for (size_t i = 0; i < text.size(); ++i) to[i] = text[i];
  };
  put(d.magic, plugin_descriptor::magic_text);
  d.abi = plugin_abi;
  d.caf = caf;
  put(d.troupe, troupe::version);
  put(d.toolchain, TROUPE_TOOLCHAIN);
  put(d.name, name);
  put(d.version, its_version);
  return d;
}

}  // namespace troupe
