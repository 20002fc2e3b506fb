// expression_parser: literals, calls, filters and tests.
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "gpu/chat_template/expression_parser.hpp"
#include "gpu/chat_template/methods.hpp"

namespace troupe::llm::jinja {

expression_ptr expression_parser::parse_primary() {
  const auto& t = current();
  const auto at = t.at;
  switch (t.kind) {
    case token_kind::name: return parse_constant_name();
    case token_kind::integer:
    case token_kind::real: return parse_number();
    case token_kind::string: {
      std::string text;
      for (; current().kind == token_kind::string; advance()) text += current().text;
      return make(at, literal{make_text(text)});
    }
    default: break;
  }
  if (is_symbol("[")) return parse_list();
  if (is_symbol("{")) return parse_dict();
  if (!take_symbol("(")) fail_unexpected("an expression");
  auto e = parse_tuple(true, true);
  expect_symbol(")");
  return e;
}

expression_ptr expression_parser::parse_constant_name() {
  const auto at = current().at;
  const auto name = expect_any_name("a name");
  if (name == "true" || name == "True") return make(at, literal{true});
  if (name == "false" || name == "False") return make(at, literal{false});
  if (name == "none" || name == "None") return make(at, literal{none{}});
  if (name == "cycler" || name == "joiner" || name == "lipsum") {
    fail(at, fmt::format("function '{}' is not supported", name),
         "; supported: dict, namespace, raise_exception, range, strftime_now");
  }
  return make(at, name_of{name});
}

expression_ptr expression_parser::parse_number() {
  const auto& t = current();
  const auto at = t.at;
  const auto* begin = t.text.data();
  value v;
  if (t.kind == token_kind::real) {
    v = std::strtod(begin, nullptr);
  } else {
    int64_t n = 0;
    if (std::from_chars(begin, begin + t.text.size(), n).ec != std::errc{}) {
      fail(at, "a whole number does not fit into 64 bits");
    }
    v = n;
  }
  advance();
  return make(at, literal{v});
}

expression_ptr expression_parser::parse_list() {
  const auto at = current().at;
  expect_symbol("[");
  std::vector<expression_ptr> items;
  while (!is_symbol("]")) {
    if (!items.empty()) expect_symbol(",");
    if (is_symbol("]")) break;
    items.push_back(parse_expression());
  }
  expect_symbol("]");
  return make(at, list_of{sequence_kind::list, std::move(items)});
}

expression_ptr expression_parser::parse_dict() {
  const auto at = current().at;
  expect_symbol("{");
  dict_of_pairs d;
  while (!is_symbol("}")) {
    if (!d.items.empty()) expect_symbol(",");
    if (is_symbol("}")) break;
    auto key = parse_expression();
    expect_symbol(":");
    auto item = parse_expression();
    d.items.emplace_back(std::move(key), std::move(item));
  }
  expect_symbol("}");
  return make(at, std::move(d));
}

argument_list expression_parser::parse_arguments() {
  argument_list a;
  expect_symbol("(");
  while (!is_symbol(")")) {
    if (!a.positional.empty() || !a.named.empty()) expect_symbol(",");
    if (is_symbol(")")) break;
    if (is_symbol("*") || is_symbol("**"))
      fail(current().at, "arguments with * or ** are not supported", ": name them");
    const auto& next = following();
    if (current().kind == token_kind::name && next.kind == token_kind::symbol && next.text == "=") {
      const auto at = current().at;
      auto name = expect_any_name("a name");
      advance();
      const bool twice =
          std::any_of(a.named.begin(), a.named.end(), [&](const auto& n) { return n.first == name; });
      if (twice) fail(at, fmt::format("argument '{}' is given twice", name));
      a.named.emplace_back(std::move(name), parse_expression());
    } else {
      if (!a.named.empty()) fail(current().at, "an argument without a name follows one with a name");
      a.positional.push_back(parse_expression());
    }
  }
  expect_symbol(")");
  return a;
}

void expression_parser::check(const signature& s, const argument_list& a, place at) const {
  std::vector<std::string_view> names;
  for (const auto& [name, e] : a.named) names.push_back(name);
  if (const auto wrong = mismatch(s, a.positional.size(), names); !wrong.empty()) fail(at, wrong);
}

/// Checks that a filter or test named by a literal argument of map, select and the like is supported.
void expression_parser::check_named(const filter& f, const argument_list& a, place at) const {
  if (!f.s.variadic) return;
  const bool maps = f.s.name == "map";
  const size_t name_at = f.s.name.ends_with("attr") ? 1 : 0;
  if (a.positional.size() <= name_at) return;
  const auto* l = std::get_if<literal>(&a.positional[name_at]->is);
  const auto* name = l != nullptr ? text_of(l->is) : nullptr;
  if (name == nullptr) return;
  if (maps && find_filter(*name) == nullptr) {
    fail(at, fmt::format("filter '{}' is not supported", *name), "; supported: " + filter_names());
  }
  if (!maps && find_test(*name) == nullptr) {
    fail(at, fmt::format("test '{}' is not supported", *name), "; supported: " + test_names());
  }
}

expression_ptr expression_parser::parse_call(expression_ptr callee) {
  const auto at = current().at;
  if (const auto* method = std::get_if<attribute_of>(&callee->is);
      method != nullptr && is_unsupported_method(method->name)) {
    fail(callee->at, fmt::format("method '{}' is not supported", method->name),
         "; supported: " + method_names());
  }
  return make(at, call{std::move(callee), parse_arguments()});
}

expression_ptr expression_parser::parse_filter(expression_ptr of) {
  expect_symbol("|");
  const auto at = current().at;
  const auto name = expect_any_name("the name of a filter");
  const auto* f = find_filter(name);
  if (f == nullptr)
    fail(at, fmt::format("filter '{}' is not supported", name), "; supported: " + filter_names());
  argument_list a;
  if (is_symbol("(")) a = parse_arguments();
  check(f->s, a, at);
  check_named(*f, a, at);
  return make(at, filtered{std::move(of), f, std::move(a)});
}

expression_ptr expression_parser::parse_test(expression_ptr of) {
  expect_name("is");
  const auto negation_at = current().at;
  const bool negated = take_name("not");
  const auto at = current().at;
  const auto name = expect_any_name("the name of a test");
  const auto* t = find_test(name);
  if (t == nullptr) fail(at, fmt::format("test '{}' is not supported", name), "; supported: " + test_names());
  argument_list a;
  const auto kind = current().kind;
  const bool literal_follows =
      kind == token_kind::string || kind == token_kind::integer || kind == token_kind::real;
  const bool name_follows = kind == token_kind::name && !is_name("else") && !is_name("or") && !is_name("and");
  if (is_symbol("(")) {
    a = parse_arguments();
  } else if (literal_follows || is_symbol("[") || is_symbol("{") ||
             (name_follows && t->s.required > 0)) {  // jinja2 reads any name as an argument, even `if`
    if (is_name("is")) fail(current().at, "tests cannot be chained with is");
    a.positional.push_back(parse_postfix(parse_primary()));
  }
  check(t->s, a, at);
  auto e = make(at, tested{std::move(of), t, std::move(a)});
  return negated ? make(negation_at, unary{unary::sign::negation, std::move(e)}) : std::move(e);
}

}  // namespace troupe::llm::jinja
