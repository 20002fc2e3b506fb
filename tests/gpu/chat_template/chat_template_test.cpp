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
  CHECK(says(parse_error("{{ x.zfill(1) }}"), "method 'zfill' is not supported (line 1, column 5)"));
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

TEST_CASE("str.format replaces its fields") {
  CHECK(render("{{ '{} {} {}'.format(1, 'b', none) }}") == "1 b None");
  CHECK(render("{{ '{1}{0}{1}'.format('a', 'b') }}") == "bab");
  CHECK(render("{{ '{name}: {0[1]} {p.q} {p[q]}'.format([1, 2], name='n', p={'q': 3}) }}") == "n: 2 3 3");
  CHECK(render("{{ '{0.missing}|{0[7]}|{1[x]}'.format('a', {'x': 1}) }}") == "||1");
  CHECK(render("{{ '{{}} {{{}}}'.format(1) }}") == "{} {1}");
  CHECK(render("{{ '{!r:>6}|{!s}'.format('a', 'b') }}") == "   'a'|b");
  CHECK(render("{{ '{:{}}|{:{w}.{p}f}'.format('a', 4, 2.5, w=7, p=2) }}") == "a   |   2.50");
}

TEST_CASE("str.format lays values out by their specifiers, as Python does") {
  CHECK(render("{{ '{:>4}|{:<4}|{:^5}|{:*^7.2}|{:05}'.format('a', 'b', 'c', 'Grüße', 'x') }}") ==
        "   a|b   |  c  |**Gr***|x0000");
  CHECK(
      render("{{ '{:5}|{:<5}|{:05d}|{:+}|{: d}|{:,}|{:_}|{:x}|{:#X}|{:b}|{:o}|{:^7}'.format(42, 42, -42, 7, "
             "7, 1234567, 1234567, 255, 255, 5, 8, 3) }}") ==
      "   42|42   |-0042|+7| 7|1,234,567|1_234_567|ff|0XFF|101|10|   3   ");
  CHECK(render("{{ '{:.2f}|{:8.1f}|{:08.3f}|{:.1%}|{:e}|{:.3g}|{:,.2f}|{:6}|{}|{:.0f}'.format(2.675, 3, "
               "-3.14159, 0.1234, 1234.5, 1234.5, 1234567.891, 1.5, 2.0, 2.5) }}") ==
        "2.67|     3.0|-003.142|12.3%|1.234500e+03|1.23e+03|1,234,567.89|   1.5|2.0|2");
  CHECK(render("{{ '{}|{:3}|{:d}'.format(true, true, true) }}") == "True|  1|1");
  CHECK(render("{{ '{:_x}|{:=+6}|{:0<5}'.format(1048575, 3, 7) }}") == "f_ffff|+    3|70000");
}

TEST_CASE("str.format refuses wrong formats and unsupported specifiers with the reason") {
  CHECK(says(why_refused("{{ '{}'.format() }}"), "a.jinja: format: there is no argument 0 (line 1, column "));
  CHECK(says(why_refused("{{ '{a}'.format(b=1) }}"), "format: there is no argument 'a'"));
  CHECK(says(why_refused("{{ '{} {0}'.format(1) }}"), "fields are numbered either all or not at all"));
  CHECK(says(why_refused("{{ '{0} {}'.format(1) }}"), "fields are numbered either all or not at all"));
  CHECK(says(why_refused("{{ '{'.format() }}"), "format: single '{'"));
  CHECK(says(why_refused("{{ 'a}'.format() }}"), "format: single '}'"));
  for (const auto* open : {"{0", "{0!", "{0!r", "{0:", "{0:{0}", "{0[1"})
    CHECK(says(why_refused("{{ '" + std::string(open) + "'.format(1) }}"), "is not closed"));
  CHECK(says(why_refused("{{ '{0[1]x}'.format([1, 2]) }}"), "only '.' or '[' may follow ']'"));
  CHECK(says(why_refused("{{ '{a.}'.format(a=1) }}"), "a field has an empty name"));
  CHECK(says(why_refused("{{ '{0!x}'.format(1) }}"), "the conversion '!x' is not supported"));
  CHECK(says(why_refused("{{ '{:{:{}}}'.format('a', 3, 4) }}"), "nested too deeply"));
  CHECK(says(why_refused("{{ '{:d}'.format('a') }}"), "specifier 'd' is not supported for a str"));
  CHECK(says(why_refused("{{ '{:+}'.format('a') }}"), "specifier '+' is not supported for a str"));
  CHECK(says(why_refused("{{ '{:5}'.format(none) }}"), "specifier '5' is not supported for a NoneType"));
  CHECK(says(why_refused("{{ '{:.2}'.format(1) }}"), "specifier '.2' is not supported for a int"));
  CHECK(says(why_refused("{{ '{:c}'.format(65) }}"), "specifier 'c' is not supported for a int"));
  CHECK(says(why_refused("{{ '{:010,}'.format(1234) }}"), "specifier '010,' is not supported for a int"));
  CHECK(says(why_refused("{{ '{:99999999999}'.format('a') }}"), "is not supported for a str"));
  CHECK(says(why_refused("{% for i in range(9999) %}{{ '{:4000000}'.format(i) }}{% endfor %}"), "a.jinja: "));
}

TEST_CASE("min and max give the first item that is smallest or largest") {
  CHECK(render(
            "{{ [3, 1, 2] | min }}{{ [3, 1, 2] | max }}{{ ['b', 'A', 'c'] | min }}{{ ['b', 'A', 'B'] | max }}"
            "{{ ['b', 'A', 'B'] | max(case_sensitive=true) }}") == "13Abb");
  CHECK(
      render("{{ [{'b': {'c': 1}}, {'b': {'c': 5}}] | max(attribute='b.c') }}{{ 'hello' | min }}[{{ [] | max "
             "}}]{{ [1, 1.0] | max }}{{ [true, 1] | min }}") == "{'b': {'c': 5}}e[]1True");
  CHECK(says(why_refused("{{ [1, 'a'] | min }}"), "'<' not supported between 'str' and 'int'"));
  CHECK(says(why_refused("{{ [1, 'a'] | max }}"), "'>' not supported between 'str' and 'int'"));
  CHECK(says(why_refused("{{ 3 | min }}"), "'int' object is not iterable"));
  CHECK(says(why_refused("{{ ([] | max) + 1 }}"), "there is no max item"));
}

TEST_CASE("from_json reads what tojson writes") {
  CHECK(render(R"({{ '{"a": [1, 2.5, null, true, "\\u00e9"], "a": 2, "b": {"c": []}}' | from_json }})") ==
        "{'a': 2, 'b': {'c': []}}");
  CHECK(render("{{ (' [1, -0, 1e2]' | fromjson)[2] }}{{ ('[\"\\\\u00e9\"]' | from_json)[0] }}") == "100.0é");
  CHECK(render("{{ ({'x': [1, none, 'é']} | tojson | from_json).x[2] }}") == "é");
  CHECK(says(why_refused("{{ '[1,]' | from_json }}"),
             "from_json: the text is not JSON (at character 4) (line 1"));
  CHECK(says(why_refused("{{ '' | from_json }}"), "from_json: the text is not JSON"));
  CHECK(says(why_refused("{{ '[1] 2' | from_json }}"), "from_json: the text is not JSON"));
  CHECK(says(why_refused("{{ 1 | from_json }}"), "'from_json' needs a str, not 'int'"));
  CHECK(says(why_refused("{{ x | from_json }}"), "'x' is undefined"));
  for (const auto* number : {"9223372036854775808", "99999999999999999999", "-9223372036854775809", "1e999"})
    CHECK(says(why_refused("{{ '" + std::string(number) + "' | from_json }}"), "does not fit into 64 bits"));
  CHECK(says(why_refused("{{ ('[' * 5000) | from_json }}"), "nests deeper than 100"));
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

TEST_CASE("a namespace has no private attributes, as in Transformers") {
  CHECK(says(why_refused("{{ namespace(_x=1) }}"), "'_x' cannot be an attribute of a namespace"));
  CHECK(says(why_refused("{{ namespace({'__class__': 1}) }}"), "'__class__' cannot be an attribute"));
  CHECK(says(why_refused("{% set ns = namespace() %}{% set ns._x = 1 %}"), "'_x' cannot be an attribute"));
  CHECK(render("{% set _x = 1 %}{{ _x }}{{ {'_y': 2}._y }}{{ namespace(x_=3).x_ }}") == "123");
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
