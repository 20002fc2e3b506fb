// The state of one rendering: its budget, and the objects that values point to.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gpu/chat_template/ast.hpp"
#include "gpu/chat_template/budget.hpp"
#include "gpu/chat_template/value.hpp"

namespace troupe::llm::jinja {

/// The variables of a block.
struct scope {
  std::shared_ptr<const scope> outer;
  std::unordered_map<std::string_view, value> names;  // keys point into the template

  const value* find(std::string_view name) const {
    for (const auto* s = this; s != nullptr; s = s->outer.get())
      if (const auto at = s->names.find(name); at != s->names.end()) return &at->second;
    return nullptr;
  }
};

struct macro {
  const macro_definition* definition;
  std::shared_ptr<const scope> outer;  // enclosing scope of the definition
};

struct session {
  budget cost;
  std::string date;  // ISO 8601; empty if the caller gave none
  std::deque<name_space> namespaces;
  std::deque<loop_state> loops;
  std::deque<macro> macros;
};

}  // namespace troupe::llm::jinja
