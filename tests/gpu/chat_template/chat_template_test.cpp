#include "gpu/chat_template/chat_template.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "gpu/common/request_refused.hpp"

using namespace troupe;
using llm::chat_template;
using json = nlohmann::ordered_json;

namespace {

std::string render(const std::string& source, const json& variables = json::object()) {
  return chat_template(source, "a.jinja").render(variables);
}

template <class error, class function>
std::string message_of(function f) {
  try {
    f();
  } catch (const error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

std::string parse_error(const std::string& source) {
  return message_of<model_error>([&] { chat_template(source, "a.jinja"); });
}

std::string why_refused(const std::string& source, const json& variables = json::object()) {
  const chat_template t(source, "a.jinja");
  return message_of<request_refused>([&] { t.render(variables); });
}

bool says(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

std::string repeated(const std::string& s, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += s;
  return out;
}

}  // namespace

TEST_CASE("a template renders a conversation") {
  const auto v = json::parse(
      R"({"messages": [{"role": "user", "content": " Hi "}, {"role": "assistant", "content": "Yo"}],
                                 "add_generation_prompt": true})");
  CHECK(render("{% for m in messages %}\n<{{ m.role }}>{{ m['content'] | trim }}\n{% endfor %}\n"
               "{% if add_generation_prompt %}<assistant>{% endif %}\n",
               v) == "<user>Hi\n<assistant>Yo\n<assistant>");
}

TEST_CASE("a separator may be longer than a string's inline buffer") {
  CHECK(render("{{ 'one <|end_of_the_turn|> two'.split(' <|end_of_the_turn|> ') | join('+') }}") ==
        "one+two");
  CHECK(render("{{ 'one <|end_of_the_turn|> two'.rsplit(' <|end_of_the_turn|> ', 1) | join('+') }}") ==
        "one+two");
}

TEST_CASE("an unsupported feature is reported with its place when the template is read") {
  CHECK(says(parse_error("a\n  {{ x | xyz }}"),
             "a.jinja: filter 'xyz' is not supported (line 2, column 10); supported: abs, "));
  CHECK(
      says(parse_error("{{ x is prime }}"), "test 'prime' is not supported (line 1, column 9); supported: "));
  CHECK(says(parse_error("é{% include 'x' %}"),
             "tag 'include' is not supported (line 1, column 5); supported: break, "));
  CHECK(says(parse_error("{{ x.format(1) }}"), "method 'format' is not supported (line 1, column 5)"));
  CHECK(says(parse_error("{{ x | map('xyz') }}"), "filter 'xyz' is not supported"));
  CHECK(says(parse_error("{{ x | select('xyz') }}"), "test 'xyz' is not supported"));
  CHECK(says(parse_error("{{ cycler(1) }}"), "function 'cycler' is not supported"));
  CHECK(says(parse_error("{{ f(*x) }}"), "arguments with * or **"));
  CHECK(says(parse_error("{{ x | trim(1, 2) }}"),
             "'trim' takes at most 1 arguments here, not 2 (line 1, column 8)"));
  CHECK(says(parse_error("{{ x | tojson(ident=2) }}"), "'tojson' has no argument 'ident'"));
}

TEST_CASE("a template with a syntax error, or too large, is refused with the reason") {
  CHECK(says(parse_error("{% if x %}"),
             "expected {% endif %}, found the end of the template (line 1, column 11)"));
  CHECK(says(parse_error("{{ 'x }}"), "the string is not closed (line 1, column 4)"));
  CHECK(says(parse_error("{{ x"), "the tag is not closed"));
  CHECK(says(parse_error("{# x"), "the comment is not closed"));
  CHECK(says(parse_error("{{ (x] }}"), "unexpected ']' (line 1, column 6)"));
  CHECK(says(parse_error("{% break %}"), "'break' outside of a loop"));
  CHECK(says(parse_error("{% endfor %}"), "'endfor' without a matching tag before it"));
  CHECK(says(parse_error("{% set true = 1 %}"), "cannot assign to 'true'"));
  CHECK(says(parse_error("{{ 99999999999999999999 }}"), "does not fit into 64 bits"));
  CHECK(says(parse_error("\xff"), "not UTF-8"));
  CHECK(says(parse_error(std::string(300'000, 'x')), "at most 262144"));
}

TEST_CASE("raise_exception refuses the conversation with the template's message") {
  CHECK(why_refused("{{ raise_exception('Roles must alternate') }}") ==
        "the model's chat template refuses the conversation: Roles must alternate");
}

TEST_CASE("an error while rendering names the place and the reason") {
  CHECK(why_refused("\n{{ message.content }}") == "a.jinja: 'message' is undefined (line 2, column 11)");
  CHECK(says(why_refused("{{ 'a' + 1 }}"),
             "unsupported operand types for +: 'str' and 'int' (line 1, column 8)"));
  CHECK(says(why_refused("{{ 1 < 'a' }}"), "'<' not supported between 'int' and 'str'"));
  CHECK(says(why_refused("{{ 1 // 0 }}"), "division by zero"));
  CHECK(says(why_refused("{{ x.append(1) }}", {{"x", json::array()}}), "'append' would modify the list"));
  CHECK(says(why_refused("{{ 9223372036854775807 + 1 }}"), "does not fit into 64 bits"));
  CHECK(says(why_refused("{{ range(3) | map('trim') }}"), "a generator cannot be printed"));
  CHECK(says(why_refused("{{ 1 }}", json::array()), "must be a JSON object"));
}

TEST_CASE("strftime_now formats the request's date, and refuses a request without one") {
  CHECK(render("{{ strftime_now('%d %b %Y') }}", {{"strftime_now", "2024-07-26"}}) == "26 Jul 2024");
  CHECK(says(why_refused("{{ strftime_now('%Y') }}"), "set its variable strftime_now"));
  CHECK(render("{{ strftime_now is defined }}") == "True");
}

TEST_CASE("break inside of a block assignment leaves the loop and discards the block's text") {
  CHECK(render("{% for i in [1, 2, 3] %}{% set x %}a{% if i == 2 %}{% break %}{% endif %}{% endset %}{{ x "
               "}}{{ i }}"
               "{% endfor %}!") == "a1!");
}

TEST_CASE("a macro sees the names around its definition, not those around its call") {
  CHECK(render("{% set x = 1 %}{% macro f() %}{{ x }}{% endmacro %}{% for x in [5] %}{{ f() }}{% endfor %}"
               "{% set x = 2 %}{{ f() }}") == "12");
}

TEST_CASE("a macro outlives the loop that defined it") {
  CHECK(render("{% set ns = namespace() %}{% for i in [7] %}{% set j = i * 2 %}{% macro f() %}{{ j }}{% "
               "endmacro %}"
               "{% set ns.f = f %}{% endfor %}{{ ns.f() }}") == "14");
}

TEST_CASE("a loop variable remains readable after its loop") {
  CHECK(render("{% set ns = namespace() %}{% for i in 'abc' %}{% set ns.l = loop %}{% endfor %}"
               "{{ ns.l.index }}{{ ns.l.previtem }}{{ ns.l.nextitem is defined }}") == "3bFalse");
}

TEST_CASE("cyclic references between namespaces neither leak nor hang") {
  CHECK(
      render("{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = [b] %}{{ a.b[0].a == a }}") ==
      "True");
}

TEST_CASE("unbounded output is refused") {
  CHECK(says(why_refused("{% for i in range(99999) %}{{ 'x' * 1000 }}{% endfor %}"),
             "renders more than 4 MiB"));
  CHECK(says(
      why_refused(
          "{% set ns = namespace(t='ab') %}{% for i in range(99) %}{% set ns.t = ns.t ~ ns.t %}{% endfor %}"),
      "renders more than 4 MiB"));
  CHECK(says(why_refused("{{ 'x' * 9000000000000000000 }}"), "renders more than 4 MiB"));
  CHECK(says(why_refused("{% set t = 'x' * 100000 %}{{ t | replace('', t) }}"), "renders more than 4 MiB"));
}

TEST_CASE("unbounded work is refused") {
  CHECK(says(why_refused("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"),
             "too many steps"));
  CHECK(says(why_refused("{{ range(100001) }}"), "'range' is longer than 100000"));
  CHECK(says(why_refused("{{ range(-9223372036854775807, 9223372036854775807, 1) }}"), "'range' is longer"));
  CHECK(says(
      why_refused(
          "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}"
          "{% set ns.m = [1] %}{% for i in range(60) %}{% set ns.m = [ns.m, ns.m] %}{% endfor %}"
          "{{ ns.l == ns.m }}"),
      "too many steps"));
}

TEST_CASE("unbounded nesting is refused without a stack overflow") {
  CHECK(says(parse_error("{{ " + repeated("(", 50'000) + "x" + repeated(")", 50'000) + " }}"),
             "nested deeper than 200"));
  CHECK(says(parse_error("{{ " + repeated("[", 50'000) + repeated("]", 50'000) + " }}"),
             "nested deeper than 200"));
  CHECK(says(parse_error("{{ " + repeated("- ", 50'000) + "x }}"), "nested deeper than 200"));
  CHECK(says(parse_error("{{ " + repeated("not ", 50'000) + "x }}"), "nested deeper than 200"));
  CHECK(says(parse_error("{{ x" + repeated(" + x", 50'000) + " }}"), "nested deeper than 200"));
  CHECK(says(parse_error("{{ x" + repeated(".x", 50'000) + " }}"), "nested deeper than 200"));
  CHECK(says(parse_error("{{ x" + repeated("|trim", 50'000) + " }}"), "nested deeper than 200"));
  CHECK(says(parse_error("{{ x" + repeated(" if x else x", 20'000) + " }}"), "nested deeper than 200"));
  CHECK(says(parse_error(repeated("{% if x %}", 20'000)), "nested deeper than 200"));
  CHECK(says(why_refused("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"),
             "macros call each other too deeply"));
  CHECK(says(
      why_refused(
          "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l] %}{% endfor %}"),
      "nests lists deeper than 100"));
  json deep = json::array();
  for (int i = 0; i < 200; ++i) deep = json::array({deep});
  CHECK(says(why_refused("{{ x }}", {{"x", deep}}), "nests JSON deeper than 100"));
}

TEST_CASE("variables of the request hide functions, and assigned variables hide both") {
  CHECK(render("{{ range }}", {{"range", 1}}) == "1");
  CHECK(render("{% set range = 2 %}{{ range }}", {{"range", 1}}) == "2");
}

TEST_CASE("a template renders the same text in concurrent threads") {
  const chat_template t("{% for m in messages %}{{ loop.index }}{{ m | tojson }}{% endfor %}", "a.jinja");
  const json v = {{"messages", json::array({"a", 1, json::object({{"k", "v"}})})}};
  const auto expected = t.render(v);
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  for (auto& text : texts) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) text = t.render(v);
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& text : texts) CHECK(text == expected);
}
