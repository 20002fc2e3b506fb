// Parses the expressions inside of tags, with jinja2's operator precedence.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/chat_template/ast.hpp"
#include "gpu/chat_template/expression_depth.hpp"
#include "gpu/chat_template/lexer.hpp"

namespace troupe::llm::jinja {

constexpr uint32_t deepest_nesting = 200;  // nesting of brackets, blocks and operators in a template

class expression_parser {
 public:
  expression_parser(const source& s, std::vector<token> tokens) : source_(s), tokens_(std::move(tokens)) {}

 protected:
  const token& current() const { return tokens_[at_]; }
  const token& following() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  void advance() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  bool is_symbol(std::string_view s) const {
    return current().kind == token_kind::symbol && current().text == s;
  }
  bool is_name(std::string_view s) const { return current().kind == token_kind::name && current().text == s; }
  bool take_symbol(std::string_view s);
  bool take_name(std::string_view s);
  void expect_symbol(std::string_view s);
  void expect_name(std::string_view s);
  std::string expect_any_name(std::string_view what);

  [[noreturn]] void fail(place at, std::string_view what, std::string_view hint = "") const {
    jinja::fail(source_, at, what, hint);
  }
  [[noreturn]] void fail_unexpected(std::string_view wanted) const;

  /// RAII count of the nesting depth, which limits recursion.
  class level {
   public:
    explicit level(expression_parser& p);
    ~level() { --parser_.open_; }
    level(const level&) = delete;
    level& operator=(const level&) = delete;

   private:
    expression_parser& parser_;
  };

  /// One expression, or a tuple of expressions separated by commas, without brackets.
  expression_ptr parse_tuple(bool with_condition = true, bool in_brackets = false);
  expression_ptr parse_expression(bool with_condition = true);
  /// The filters after `of` (may be null), starting at their |.
  expression_ptr parse_filters(expression_ptr of);

 private:
  template <class node>
  expression_ptr make(place at, node n) const {
    const auto depth = 1 + deepest_child(n);
    if (depth > deepest_nesting) fail_too_deep(at);
    return std::make_unique<const expression>(expression{at, depth, std::move(n)});
  }
  [[noreturn]] void fail_too_deep(place at) const;

  bool ends_tuple() const;
  expression_ptr parse_logical(bool all);
  expression_ptr parse_negation();
  expression_ptr parse_comparison();
  expression_ptr parse_sum();
  expression_ptr parse_concatenation();
  expression_ptr parse_product();
  expression_ptr parse_power();
  expression_ptr parse_unary(bool with_filters = true);
  expression_ptr parse_primary();
  expression_ptr parse_constant_name();
  expression_ptr parse_number();
  expression_ptr parse_list();
  expression_ptr parse_dict();
  expression_ptr parse_postfix(expression_ptr e);
  expression_ptr parse_after(expression_ptr e);
  expression_ptr parse_attribute(expression_ptr of);
  expression_ptr parse_item(expression_ptr of);
  expression_ptr parse_call(expression_ptr callee);
  expression_ptr parse_filter(expression_ptr of);
  expression_ptr parse_test(expression_ptr of);
  argument_list parse_arguments();
  void check(const signature& s, const argument_list& a, place at) const;
  void check_named(const filter& f, const argument_list& a, place at) const;

  const source& source_;
  std::vector<token> tokens_;
  size_t at_ = 0;
  uint32_t open_ = 0;
};

}  // namespace troupe::llm::jinja
