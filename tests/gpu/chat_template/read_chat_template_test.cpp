#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "gpu/chat_template/chat_template.hpp"
#include "gpu/common/model_error.hpp"

using namespace troupe;
using llm::read_chat_template;
using json = nlohmann::ordered_json;

namespace {

/// A temporary folder of a checkpoint.
struct folder {
  std::filesystem::path path;
  folder() {
    static int count = 0;
    path = std::filesystem::temp_directory_path() /
           ("read_chat_template_test." + std::to_string(reinterpret_cast<uintptr_t>(this)) + "." +
            std::to_string(count++));
    std::filesystem::create_directories(path);
  }
  ~folder() { std::filesystem::remove_all(path); }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
  }
  std::string rendered() const { return read_chat_template(path)->render(json::object()); }
  std::string error() const {
    try {
      read_chat_template(path);
    } catch (const model_error& e) {
      return e.what();
    }
    return "nothing was thrown";
  }
};

}  // namespace

TEST_CASE("a checkpoint without a chat template has none") {
  const folder f;
  CHECK(read_chat_template(f.path) == nullptr);
  f.write("tokenizer_config.json", R"({"bos_token": "<s>"})");
  CHECK(read_chat_template(f.path) == nullptr);
}

TEST_CASE("chat_template.jinja goes before chat_template.json, and both go before tokenizer_config.json") {
  const folder f;
  f.write("tokenizer_config.json", R"({"chat_template": "{{ 1 }} in tokenizer_config.json"})");
  CHECK(f.rendered() == "1 in tokenizer_config.json");
  f.write("chat_template.json", R"({"chat_template": "{{ 2 }} in chat_template.json"})");
  CHECK(f.rendered() == "2 in chat_template.json");
  f.write("chat_template.jinja", "{{ 3 }} in chat_template.jinja\n");
  CHECK(f.rendered() == "3 in chat_template.jinja");
}

TEST_CASE("the default one of several named chat templates is used") {
  const folder f;
  f.write(
      "tokenizer_config.json",
      R"({"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]})");
  CHECK(f.rendered() == "d");
  f.write("tokenizer_config.json", R"({"chat_template": [{"name": "tool_use", "template": "t"}]})");
  CHECK(f.error().find("no entry with the name \"default\"") != std::string::npos);
}

TEST_CASE("a template that cannot be used is told apart from a file that cannot be read") {
  const folder f;
  for (const auto* text : {R"({"chat_template": "{{"})", R"({"chat_template": "{% include 'x' %}"})",
                           R"({"chat_template": 5})", R"({"chat_template": []})"}) {
    f.write("tokenizer_config.json", text);
    INFO(text);
    CHECK_THROWS_AS(read_chat_template(f.path), llm::template_error);
  }
  f.write("tokenizer_config.json", "{");
  try {
    read_chat_template(f.path);
    FAIL("nothing was thrown");
  } catch (const llm::template_error&) {
    FAIL("the file is at fault");
  } catch (const model_error&) {
  }
}

TEST_CASE("a broken file is refused with its name") {
  const folder f;
  const auto file = (f.path / "tokenizer_config.json").string();
  for (const auto* text :
       {"", "{", "[]", R"({"chat_template": 5})", R"({"chat_template": [5]})", R"({"chat_template": "{{"})",
        R"({"chat_template": [{"name": "default", "template": 1}]})"}) {
    f.write("tokenizer_config.json", text);
    INFO(text);
    CHECK(f.error().starts_with(file));
  }
  f.write("tokenizer_config.json", "{\"a\":" + std::string(100'000, '['));
  CHECK(f.error().starts_with(file));
  std::filesystem::remove(file);
  std::filesystem::create_directory(f.path / "chat_template.jinja");
  CHECK(f.error().starts_with((f.path / "chat_template.jinja").string()));
}
