// The AST of a template. Immutable, and shared by all renderings.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpu/chat_template/filters.hpp"
#include "gpu/chat_template/operators.hpp"
#include "gpu/chat_template/source.hpp"
#include "gpu/chat_template/value.hpp"
#include "gpu/chat_template/value_tests.hpp"

namespace troupe::llm::jinja {

struct expression;
struct statement;
using expression_ptr = std::unique_ptr<const expression>;
using body = std::vector<statement>;

struct argument_list {
  std::vector<expression_ptr> positional;
  std::vector<std::pair<std::string, expression_ptr>> named;
};

struct literal {
  value is;
};
struct name_of {
  std::string name;
};
struct list_of {
  sequence_kind kind;  // list or tuple
  std::vector<expression_ptr> items;
};
struct dict_of_pairs {
  std::vector<std::pair<expression_ptr, expression_ptr>> items;
};
struct attribute_of {
  expression_ptr of;
  std::string name;
};
struct item_of {
  expression_ptr of, key;
};
struct slice_of {
  expression_ptr of, from, to, step;  // the ends may be null
};
struct call {
  expression_ptr callee;
  argument_list given;
};
struct filtered {
  expression_ptr of;  // null: the text of a {% set %} block
  const filter* by;
  argument_list given;
};
struct tested {
  expression_ptr of;
  const value_test* by;
  argument_list given;
};
struct unary {
  enum class sign : uint8_t { minus, plus, negation } op;
  expression_ptr of;
};
struct binary {
  arithmetic op;
  expression_ptr left, right;
};
struct logical {
  bool all;  // true: and; false: or
  expression_ptr left, right;
};
struct concatenation {
  std::vector<expression_ptr> parts;
};
struct comparison {
  expression_ptr first;
  std::vector<std::pair<relation, expression_ptr>> others;
};
struct conditional {
  expression_ptr condition, yes, no;  // no: may be null
};

struct expression {
  place at;
  uint32_t depth;  // nesting of expressions, from 1
  std::variant<literal, name_of, list_of, dict_of_pairs, attribute_of, item_of, slice_of, call, filtered,
               tested, unary, binary, logical, concatenation, comparison, conditional>
      is;
};

/// A name, or the attribute of a namespace.
struct target_name {
  std::string name, attribute;
};
struct target {
  std::vector<target_name> names;
  bool unpacks;  // assigns a tuple, possibly of one element
};

struct data {
  std::string text;
};
struct print {
  expression_ptr what;
};
struct assignment {
  target to;
  expression_ptr what;
};
struct block_assignment {
  target to;
  expression_ptr through;  // filters; may be null
  body content;
};
struct branch {
  expression_ptr condition;
  body content;
};
struct branches {
  std::vector<branch> ifs;
  body otherwise;
};
struct loop {
  target item;
  expression_ptr over;
  expression_ptr only;  // may be null
  body content, otherwise;
};
struct macro_definition {
  struct parameter {
    std::string name;
    expression_ptr otherwise;  // may be null
  };
  std::string name;
  std::vector<parameter> parameters;
  body content;
};
/// {% with %} and {% generation %}: variables set inside are local.
struct block {
  std::vector<std::pair<std::string, expression_ptr>> names;
  body content;
};
struct jump {
  bool leaves;  // true: break; false: continue
};

struct statement {
  place at;
  std::variant<data, print, assignment, block_assignment, branches, loop, macro_definition, block, jump> is;
};

}  // namespace troupe::llm::jinja
