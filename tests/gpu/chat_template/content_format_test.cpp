#include "gpu/chat_template/content_format.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "gpu/chat_template/chat_template.hpp"

using troupe::llm::chat_template, troupe::llm::content_format, troupe::llm::with_contents;
using json = nlohmann::ordered_json;

namespace {

content_format format_of(const std::string& body) {
  const auto source = "{% for message in messages %}" + body + "{% endfor %}";
  return chat_template(source, "a.jinja").contents();
}

const json of_a_text = json::parse(R"([{"role": "user", "content": "a"}])");
const json of_parts = json::parse(
    R"([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}])");

}  // namespace

TEST_CASE("content_format: a template that prints contents takes texts") {
  CHECK(format_of("{{ message['content'] | trim }}") == content_format::text);
  CHECK(format_of("{{ message.content[0] }}{% for call in message.tool_calls %}{% endfor %}") ==
        content_format::text);
}

TEST_CASE("content_format: a template that loops over contents takes parts") {
  const std::string parts = " %}{{ part.text }}{% endfor %}";
  CHECK(format_of("{% for part in message['content']" + parts) == content_format::parts);
  CHECK(format_of("{% for part in message.content | list" + parts) == content_format::parts);
  CHECK(format_of("{% set c = message.content or [] %}{% for part in c" + parts) == content_format::parts);
  CHECK(format_of("{% with c = message.content %}{% for part in c" + parts + "{% endwith %}") ==
        content_format::parts);
  CHECK(format_of("{% macro show(x, y) %}{% for part in y" + parts +
                  "{% endmacro %}{{ show(1, message.content) }}") == content_format::parts);
}

TEST_CASE("content_format: a template that tests for texts takes both") {
  CHECK(format_of("{% if message.content is string %}{{ message.content }}{% else %}"
                  "{% for part in message.content %}{{ part.text }}{% endfor %}{% endif %}") ==
        content_format::either);
}

TEST_CASE("content_format: messages get the form of the template") {
  CHECK(with_contents(of_a_text, content_format::text) == of_a_text);
  CHECK(with_contents(of_a_text, content_format::either) == of_a_text);
  CHECK(with_contents(of_a_text, content_format::parts) ==
        json::parse(R"([{"role": "user", "content": [{"type": "text", "text": "a"}]}])"));
  CHECK(with_contents(of_parts, content_format::text) ==
        json::parse(R"([{"role": "user", "content": "a\nb"}])"));
  CHECK(with_contents(of_parts, content_format::either) == of_parts);
  CHECK(with_contents(of_parts, content_format::parts) == of_parts);
  const auto none = json::parse(R"([{"role": "user", "content": []}, {"role": "assistant"}])");
  CHECK(with_contents(none, content_format::text) ==
        json::parse(R"([{"role": "user", "content": ""}, {"role": "assistant"}])"));
}
