#include "gpu/chat_template/expression_parser.hpp"

#include <fmt/format.h>

#include <iterator>

namespace troupe::llm::jinja {

bool expression_parser::take_symbol(std::string_view s) {
  if (!is_symbol(s)) return false;
  advance();
  return true;
}

bool expression_parser::take_name(std::string_view s) {
  if (!is_name(s)) return false;
  advance();
  return true;
}

void expression_parser::fail_unexpected(std::string_view wanted) const {
  const auto& t = current();
  constexpr std::string_view ends[] = {"text", "{{", "}}", "{%", "the end of the tag"};
  const auto found = t.kind == token_kind::end   ? "the end of the template"
                     : t.kind < token_kind::name ? std::string(ends[static_cast<size_t>(t.kind)])
                                                 : fmt::format("'{:.40}'", t.text);
  fail(t.at, fmt::format("expected {}, found {}", wanted, found));
}

void expression_parser::expect_symbol(std::string_view s) {
  if (!take_symbol(s)) fail_unexpected(fmt::format("'{}'", s));
}

void expression_parser::expect_name(std::string_view s) {
  if (!take_name(s)) fail_unexpected(fmt::format("'{}'", s));
}

std::string expression_parser::expect_any_name(std::string_view what) {
  if (current().kind != token_kind::name) fail_unexpected(what);
  auto name = current().text;
  advance();
  return name;
}

expression_parser::level::level(expression_parser& p) : parser_(p) {
  if (p.open_ >= deepest_nesting) p.fail_too_deep(p.current().at);
  ++p.open_;
}

void expression_parser::fail_too_deep(place at) const {
  fail(at, fmt::format("brackets, operators and blocks are nested deeper than {}", deepest_nesting),
       ": split the expression with set");
}

bool expression_parser::ends_tuple() const {
  const auto kind = current().kind;
  return kind == token_kind::print_end || kind == token_kind::block_end || is_symbol(")");
}

expression_ptr expression_parser::parse_tuple(bool with_condition, bool in_brackets) {
  const auto at = current().at;
  std::vector<expression_ptr> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) {
      if (!take_symbol(",")) break;
      is_tuple = true;
    }
    if (ends_tuple()) break;
    items.push_back(parse_expression(with_condition));
  }
  if (!is_tuple && !items.empty()) return std::move(items.front());
  if (items.empty() && !in_brackets) fail_unexpected("an expression");
  return make(at, list_of{sequence_kind::tuple, std::move(items)});
}

expression_ptr expression_parser::parse_expression(bool with_condition) {
  const level l(*this);
  const auto at = current().at;
  auto e = parse_logical(false);
  while (with_condition && take_name("if")) {
    auto condition = parse_logical(false);
    auto no = take_name("else") ? parse_expression() : nullptr;
    e = make(at, conditional{std::move(condition), std::move(e), std::move(no)});
  }
  return e;
}

expression_ptr expression_parser::parse_logical(bool all) {
  const auto operand = [&] { return all ? parse_negation() : parse_logical(true); };
  const auto at = current().at;
  auto left = operand();
  while (take_name(all ? "and" : "or")) {
    auto right = operand();
    left = make(at, logical{all, std::move(left), std::move(right)});
  }
  return left;
}

expression_ptr expression_parser::parse_negation() {
  const auto at = current().at;
  if (!take_name("not")) return parse_comparison();
  const level l(*this);
  return make(at, unary{unary::sign::negation, parse_negation()});
}

expression_ptr expression_parser::parse_comparison() {
  constexpr std::pair<std::string_view, relation> symbols[] = {
      {"==", relation::equal},      {"!=", relation::not_equal}, {"<", relation::less},
      {"<=", relation::less_equal}, {">", relation::greater},    {">=", relation::greater_equal}};
  const auto at = current().at;
  auto first = parse_sum();
  std::vector<std::pair<relation, expression_ptr>> others;
  const auto next = [&]() -> bool {
    for (const auto& [symbol, r] : symbols) {
      if (!take_symbol(symbol)) continue;
      others.emplace_back(r, parse_sum());
      return true;
    }
    if (take_name("in")) {
      others.emplace_back(relation::in, parse_sum());
      return true;
    }
    const bool negated = is_name("not") && following().kind == token_kind::name && following().text == "in";
    if (!negated) return false;
    advance();
    advance();
    others.emplace_back(relation::not_in, parse_sum());
    return true;
  };
  while (next()) continue;
  return others.empty() ? std::move(first) : make(at, comparison{std::move(first), std::move(others)});
}

expression_ptr expression_parser::parse_sum() {
  auto left = parse_concatenation();
  while (is_symbol("+") || is_symbol("-")) {
    const auto at = current().at;
    const auto op = is_symbol("+") ? arithmetic::add : arithmetic::subtract;
    advance();
    auto right = parse_concatenation();
    left = make(at, binary{op, std::move(left), std::move(right)});
  }
  return left;
}

expression_ptr expression_parser::parse_concatenation() {
  const auto at = current().at;
  std::vector<expression_ptr> parts;
  do parts.push_back(parse_product());
  while (take_symbol("~"));
  return parts.size() == 1 ? std::move(parts.front()) : make(at, concatenation{std::move(parts)});
}

expression_ptr expression_parser::parse_product() {
  constexpr std::pair<std::string_view, arithmetic> symbols[] = {{"*", arithmetic::multiply},
                                                                 {"/", arithmetic::divide},
                                                                 {"//", arithmetic::floor_divide},
                                                                 {"%", arithmetic::modulo}};
  auto left = parse_power();
  while (true) {
    const auto* op =
        std::find_if(std::begin(symbols), std::end(symbols), [&](auto& s) { return is_symbol(s.first); });
    if (op == std::end(symbols)) return left;
    const auto at = current().at;
    advance();
    auto right = parse_power();
    left = make(at, binary{op->second, std::move(left), std::move(right)});
  }
}

expression_ptr expression_parser::parse_power() {
  auto left = parse_unary();
  while (is_symbol("**")) {
    const auto at = current().at;
    advance();
    auto right = parse_unary();
    left = make(at, binary{arithmetic::power, std::move(left), std::move(right)});
  }
  return left;
}

expression_ptr expression_parser::parse_unary(bool with_filters) {
  const level l(*this);
  const auto at = current().at;
  expression_ptr e;
  if (take_symbol("-")) {
    e = make(at, unary{unary::sign::minus, parse_unary(false)});
  } else if (take_symbol("+")) {
    e = make(at, unary{unary::sign::plus, parse_unary(false)});
  } else {
    e = parse_primary();
  }
  e = parse_postfix(std::move(e));
  return with_filters ? parse_after(std::move(e)) : std::move(e);
}

expression_ptr expression_parser::parse_postfix(expression_ptr e) {
  while (true) {
    if (is_symbol(".")) {
      e = parse_attribute(std::move(e));
    } else if (is_symbol("[")) {
      e = parse_item(std::move(e));
    } else if (is_symbol("(")) {
      e = parse_call(std::move(e));
    } else {
      return e;
    }
  }
}

expression_ptr expression_parser::parse_after(expression_ptr e) {
  while (true) {
    if (is_symbol("|")) {
      e = parse_filter(std::move(e));
    } else if (is_name("is")) {
      e = parse_test(std::move(e));
    } else if (is_symbol("(")) {
      e = parse_call(std::move(e));
    } else {
      return e;
    }
  }
}

expression_ptr expression_parser::parse_filters(expression_ptr of) {
  while (is_symbol("|")) of = parse_filter(std::move(of));
  return of;
}

expression_ptr expression_parser::parse_attribute(expression_ptr of) {
  const auto at = current().at;
  advance();
  const auto name = current();
  advance();
  if (name.kind == token_kind::name) return make(at, attribute_of{std::move(of), name.text});
  if (name.kind != token_kind::integer) {
    fail(name.at, "expected a name or a number after '.'");
  }
  --at_;
  return make(at, item_of{std::move(of), parse_number()});
}

expression_ptr expression_parser::parse_item(expression_ptr of) {
  const auto at = current().at;
  advance();
  const auto at_end = [&] { return is_symbol(":") || is_symbol("]") || is_symbol(","); };
  expression_ptr parts[3];
  bool slices = false;
  for (size_t i = 0; i < 3; ++i) {
    if (!at_end()) parts[i] = parse_expression();
    if (i == 2 || !take_symbol(":")) break;
    slices = true;
  }
  if (is_symbol(",")) fail(current().at, "several indices at once are not supported");
  expect_symbol("]");
  if (slices) {
    return make(at, slice_of{std::move(of), std::move(parts[0]), std::move(parts[1]), std::move(parts[2])});
  }
  if (parts[0] == nullptr) fail(at, "expected an index");
  return make(at, item_of{std::move(of), std::move(parts[0])});
}

}  // namespace troupe::llm::jinja
