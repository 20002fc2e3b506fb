#include "gpu/chat_template/parser.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <set>

#include "gpu/chat_template/expression_parser.hpp"

namespace troupe::llm::jinja {

namespace {

constexpr size_t max_elifs = 1000;

class parser : expression_parser {
 public:
  explicit parser(const source& s) : expression_parser(s, tokenize(s)) {}

  body run() { return parse_body({}); }

 private:
  using ends = std::initializer_list<std::string_view>;

  /// Parses up to a tag of one of these names, which becomes current; without names, up to the end of the
  /// template.
  body parse_body(const ends& until) {
    const level l(*this);
    body out;
    while (true) {
      const auto at = current().at;
      switch (current().kind) {
        case token_kind::data:
          out.push_back({at, data{current().text}});
          advance();
          break;
        case token_kind::print_begin:
          advance();
          out.push_back({at, print{parse_tuple()}});
          if (current().kind != token_kind::print_end) fail_unexpected("'}}'");
          advance();
          break;
        case token_kind::block_begin:
          advance();
          for (const auto name : until)
            if (is_name(name)) return out;
          parse_tag(at, out);
          break;
        default:
          if (until.size() > 0) fail_unexpected(fmt::format("{{% {} %}}", *(until.end() - 1)));
          return out;
      }
    }
  }

  void end_tag() {
    if (current().kind != token_kind::block_end) fail_unexpected("'%}'");
    advance();
  }

  /// Parses the rest of the opening tag, the body, and the closing tag.
  body parse_body_and_end(std::string_view end) {
    end_tag();
    auto content = parse_body({end});
    advance();
    return content;
  }

  void parse_tag(place at, body& out) {
    const auto tag = current();
    const auto name = expect_any_name("the name of a tag");
    if (name == "if") {
      out.push_back({at, parse_if()});
    } else if (name == "for") {
      out.push_back({at, parse_for()});
    } else if (name == "set") {
      parse_set(at, out);
    } else if (name == "macro") {
      out.push_back({at, parse_macro()});
    } else if (name == "with") {
      out.push_back({at, parse_with()});
    } else if (name == "generation") {
      out.push_back({at, block{{}, in_function([&] { return parse_body_and_end("endgeneration"); })}});
    } else if (name == "break" || name == "continue") {
      if (loops_ == 0) fail(tag.at, fmt::format("'{}' outside of a loop", name));
      out.push_back({at, jump{name == "break"}});
    } else if (name.starts_with("end") || name == "else" || name == "elif") {
      fail(tag.at, fmt::format("'{}' without a matching tag before it", name));
    } else {
      fail(tag.at, fmt::format("tag '{}' is not supported", name),
           "; supported: break, continue, for, generation, if, macro, raw, set, with");
    }
    end_tag();
  }

  /// Parses a part in which break and continue do not refer to an outer loop.
  template <class function>
  body in_function(function parse_content) {
    const auto outside = std::exchange(loops_, 0);
    auto content = parse_content();
    loops_ = outside;
    return content;
  }

  branches parse_if() {
    branches b;
    while (true) {
      if (b.ifs.size() == max_elifs) fail(current().at, fmt::format("more than {} elif", max_elifs));
      auto condition = parse_tuple(false);
      end_tag();
      b.ifs.push_back({std::move(condition), parse_body({"elif", "else", "endif"})});
      if (take_name("elif")) continue;
      if (take_name("else")) {
        end_tag();
        b.otherwise = parse_body({"endif"});
      }
      advance();
      return b;
    }
  }

  loop parse_for() {
    loop f;
    f.item = parse_target(false);
    expect_name("in");
    f.over = parse_tuple(false);
    if (take_name("if")) f.only = parse_expression();
    if (is_name("recursive"))
      fail(current().at, "recursive loops are not supported", ": write a macro that calls itself");
    end_tag();
    ++loops_;
    f.content = parse_body({"else", "endfor"});
    --loops_;
    if (take_name("else")) {
      end_tag();
      f.otherwise = parse_body({"endfor"});
    }
    advance();
    return f;
  }

  void parse_set(place at, body& out) {
    auto to = parse_target(true);
    if (take_symbol("=")) {
      out.push_back({at, assignment{std::move(to), parse_tuple()}});
      return;
    }
    auto through = parse_filters(nullptr);
    auto content = parse_body_and_end("endset");
    out.push_back({at, block_assignment{std::move(to), std::move(through), std::move(content)}});
  }

  macro_definition parse_macro() {
    macro_definition m;
    m.name = parse_name();
    expect_symbol("(");
    std::set<std::string> names;
    while (!is_symbol(")")) {
      if (!m.parameters.empty()) expect_symbol(",");
      const auto at = current().at;
      auto name = parse_name();
      if (!names.insert(name).second) fail(at, fmt::format("parameter '{}' is declared twice", name));
      expression_ptr otherwise;
      if (take_symbol("=")) {
        otherwise = parse_expression();
      } else if (!m.parameters.empty() && m.parameters.back().otherwise != nullptr) {
        fail(at, fmt::format("parameter '{}' has no default, but one before it has", name));
      }
      m.parameters.push_back({std::move(name), std::move(otherwise)});
    }
    advance();
    m.content = in_function([&] { return parse_body_and_end("endmacro"); });
    return m;
  }

  block parse_with() {
    block b;
    while (current().kind != token_kind::block_end) {
      if (!b.names.empty()) expect_symbol(",");
      auto name = parse_name();
      expect_symbol("=");
      b.names.emplace_back(std::move(name), parse_expression());
    }
    b.content = parse_body_and_end("endwith");
    return b;
  }

  /// Parses a name that can be assigned.
  std::string parse_name() {
    const auto at = current().at;
    auto name = expect_any_name("a name");
    for (const std::string_view constant : {"true", "True", "false", "False", "none", "None", "loop"})
      if (name == constant) fail(at, fmt::format("cannot assign to '{}'", name), ": use another name");
    return name;
  }

  target parse_target(bool with_namespace) {
    target t{{}, false};
    const bool brackets = take_symbol("(");
    do {
      if (is_symbol(")") || is_symbol("=") || is_name("in")) break;
      auto name = parse_name();
      std::string attribute;
      if (with_namespace && take_symbol(".")) attribute = expect_any_name("the name of an attribute");
      t.names.push_back({std::move(name), std::move(attribute)});
      t.unpacks = t.unpacks || is_symbol(",");
    } while (take_symbol(","));
    if (brackets) expect_symbol(")");
    if (t.names.empty()) fail_unexpected("a name");
    return t;
  }

  uint32_t loops_ = 0;  // loops around the current place
};

}  // namespace

body parse(const source& s) { return parser(s).run(); }

}  // namespace troupe::llm::jinja
