// Runs a parsed template.
#pragma once
#include <memory>
#include <string>

#include "gpu/chat_template/ast.hpp"
#include "gpu/chat_template/session.hpp"

namespace troupe::llm::jinja {

class interpreter {
 public:
  /// `names`: the variables of the request.
  interpreter(session& s, std::shared_ptr<scope> names) : session_(s), scope_(std::move(names)) {}

  /// Returns the template's output. Throws refusal.
  std::string run(const body& b);

  /// The place of the last error.
  place at() const { return at_; }

 private:
  enum class flow : uint8_t { goes_on, leaves_loop, next_item };
  class nested;
  class inner_scope;

  // interpreter.cpp: statements
  flow execute(const body& b);
  flow execute(const data& s, place at);
  flow execute(const print& s, place at);
  flow execute(const assignment& s, place at);
  flow execute(const block_assignment& s, place at);
  flow execute(const branches& s, place at);
  flow execute(const loop& s, place at);
  flow execute(const macro_definition& s, place at);
  flow execute(const block& s, place at);
  flow execute(const jump& s, place at);
  sequence_ptr chosen_items(const loop& s);
  void assign(const target& to, const value& v, place at);
  void assign(const target_name& to, const value& v);
  void emit(std::string_view text);

  // evaluation.cpp: expressions
  value evaluate(const expression& e);
  value evaluate(const literal& e, place at);
  value evaluate(const name_of& e, place at);
  value evaluate(const list_of& e, place at);
  value evaluate(const dict_of_pairs& e, place at);
  value evaluate(const attribute_of& e, place at);
  value evaluate(const item_of& e, place at);
  value evaluate(const slice_of& e, place at);
  value evaluate(const call& e, place at);
  value evaluate(const filtered& e, place at);
  value evaluate(const tested& e, place at);
  value evaluate(const unary& e, place at);
  value evaluate(const binary& e, place at);
  value evaluate(const logical& e, place at);
  value evaluate(const concatenation& e, place at);
  value evaluate(const comparison& e, place at);
  value evaluate(const conditional& e, place at);
  arguments evaluate(const argument_list& a);
  value call_macro(const macro& m, const arguments& a);
  void bind(const macro& m, const arguments& a);

  session& session_;
  std::shared_ptr<scope> scope_;
  std::string out_;
  value captured_;  // the text of the {% set %} block being assigned
  place at_ = 0;
  uint32_t depth_ = 0;
};

/// RAII count of nested expressions, statements and macros.
class interpreter::nested {
 public:
  nested(interpreter& i, place at) : interpreter_(i) {
    i.at_ = at;
    i.session_.cost.spend();
    if (i.depth_ == deepest_evaluation) throw refusal("macros call each other too deeply");
    ++i.depth_;
  }
  ~nested() { --interpreter_.depth_; }
  nested(const nested&) = delete;
  nested& operator=(const nested&) = delete;

 private:
  interpreter& interpreter_;
};

/// RAII scope: variables set during its lifetime are dropped at its end.
class interpreter::inner_scope {
 public:
  inner_scope(interpreter& i, std::shared_ptr<const scope> outer) : interpreter_(i), saved_(i.scope_) {
    i.scope_ = std::make_shared<scope>(scope{std::move(outer), {}});
  }
  explicit inner_scope(interpreter& i) : inner_scope(i, i.scope_) {}
  ~inner_scope() { interpreter_.scope_ = std::move(saved_); }
  inner_scope(const inner_scope&) = delete;
  inner_scope& operator=(const inner_scope&) = delete;

 private:
  interpreter& interpreter_;
  std::shared_ptr<scope> saved_;
};

}  // namespace troupe::llm::jinja
