// Finds the form of contents in the AST of a template.
#pragma once
#include <map>
#include <set>
#include <string>

#include "gpu/chat_template/ast.hpp"
#include "gpu/chat_template/content_format.hpp"

namespace troupe::llm::jinja {

/// As vLLM's chat_template_content_format "auto": a template takes parts if it loops over `message.content`,
/// `message["content"]`, or a variable or macro parameter that has such a value.
class content_reader {
 public:
  content_format read(const body& b);

 private:
  bool is_content(const expression& e) const;
  bool is_content(const expression_ptr& e) const { return e && is_content(*e); }
  void note(const std::string& name, const expression_ptr& from);
  void visit(const body& b);
  void visit(const expression_ptr& e);
  void visit(const argument_list& a);
  void visit_call(const call& c);
  void visit_statement(const statement& s);
  void visit_expression(const expression& e);

  std::set<std::string, std::less<>> names_;  ///< of variables that hold a content
  std::map<std::string, const macro_definition*, std::less<>> macros_;
  bool loops_ = false, tests_ = false;
};

}  // namespace troupe::llm::jinja
