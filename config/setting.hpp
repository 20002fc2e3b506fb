// Effective values of a file with their origins, recorded by the reader. `troupe config dump` prints them,
// and the hash of a cluster is computed over them.
#pragma once
#include <cstdint>
#include <list>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

using setting_value =
    std::variant<bool, int64_t, double, std::string, std::vector<std::string>, std::vector<double>>;

struct setting {
  std::string key;
  setting_value value;
  std::string origin;   ///< "cluster.toml:12:9", "default"
  std::string meaning;  ///< if not empty, hashed in place of the value: the content of a file
};

/// A TOML table: its own values, then its subtables, in the order in which they were read.
struct setting_table {
  std::string name;
  bool repeated = false;  ///< [[name]] rather than [name]
  std::vector<setting> settings;
  std::list<setting_table> tables;  ///< a list: the reader holds on to tables while it adds others
};

/// TOML that reads back to the same values, with the origin of each in a comment.
std::string to_toml(const setting_table& root);

/// {"key": {"value": ..., "origin": ...}, "table": {...}, "repeated table": [{...}]}, indented.
std::string to_json(const setting_table& root);

/// The values alone, as text: equal for files with the same meaning. The hash of a cluster is computed over
/// it.
std::string meaning(const setting_table& root);

}  // namespace troupe
