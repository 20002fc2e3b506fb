// The values that a file came to mean, each with the place it came from: what `troupe config dump` prints,
// and what a cluster's hash is computed over. The reader keeps this record while it reads.
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
  std::string meaning;  ///< what the hash sees instead of the value, if not empty: the content of a file
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

/// The values alone, as text: the same for files that mean the same. A cluster's hash is computed over it.
std::string meaning(const setting_table& root);

}  // namespace troupe
