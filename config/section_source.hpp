// Source of a section. Only this file and reader.cpp include toml++.
#pragma once
#include <toml++/toml.h>

#include <string>
#include <utility>

#include "config/reader.hpp"

namespace troupe {

struct section::source {
  source(const toml::table* t, file_position h) : table(t), header(std::move(h)) {}
  const toml::table* table;  ///< null: absent
  file_position header;
};

inline file_position place(const std::string& file, const toml::source_position& p) {
  return {file, static_cast<uint32_t>(p.line), static_cast<uint32_t>(p.column)};
}

}  // namespace troupe
