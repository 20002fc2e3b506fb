// Loads plug-ins into the process. The cluster file names them (config/plugins.cpp), so every command that
// reads a cluster file loads its plug-ins.
#pragma once
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {

/// The text is one sentence that names the library and the problem.
struct plugin_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A key of the table [plugins.NAME], as declared by the plug-in.
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
  std::vector<std::string> batchings, matchmakings, actors;  ///< registered names
};

/// Checks the library's descriptor, loads the library permanently, and adds its policies and actors to the
/// registries, all or none. A library that was loaded before is not loaded again. Throws plugin_error. Not
/// thread-safe: it is called before other threads start.
const loaded_plugin& load_plugin(const std::filesystem::path& library);

}  // namespace troupe
