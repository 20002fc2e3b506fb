// Brings plug-ins into the process. The cluster file names them (config/plugins.cpp), so every command that
// reads one loads them.
#pragma once
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {

/// One sentence that names the library and what to do.
struct plugin_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A key of [plugins.NAME] that a plug-in declared.
struct plugin_parameter {
  struct integer {
    int64_t min, max, fallback;
  };
  struct number {
    std::string unit;
    double min, max, fallback;
  };
  struct text {
    std::string fallback;
  };
  std::string key;
  std::variant<integer, number, text> kind;
};

struct loaded_plugin {
  std::string name, version;
  std::string library;  ///< absolute path
  std::vector<plugin_parameter> parameters;
  std::vector<std::string> batchings, matchmakings, actors;  ///< names that it brought
};

/// Checks the library's descriptor, then loads it for good and adds what it brings to the registries: all or
/// nothing. A library that was loaded before is not loaded again. Throws plugin_error. Before any other
/// thread runs.
const loaded_plugin& load_plugin(const std::filesystem::path& library);

}  // namespace troupe
