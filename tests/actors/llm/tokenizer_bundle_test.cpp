#include "actors/llm/tokenizer_bundle.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

using namespace troupe;
using json = nlohmann::ordered_json;

namespace {

std::string rendered_chat(const std::string& source, const json& more = json::object(),
                          llm::special_tokens special = {}) {
  tokenizer_bundle b;
  b.chat = std::make_shared<const llm::chat_template>(source, "a.jinja");
  b.special = std::move(special);
  using namespace std::chrono;
  return render_chat(b, {{{"role", "user"}, {"content", "hi"}}}, true, more, sys_days{2026y / March / 9});
}

}  // namespace

TEST_CASE("a chat template sees the conversation, the date, and neither tools nor documents") {
  CHECK(
      rendered_chat("{{ messages[0].content }} {{ add_generation_prompt }} {{ strftime_now('%d %b %Y') }}") ==
      "hi True 09 Mar 2026");
  CHECK(rendered_chat("{{ tools is none }} {{ documents is none }}") == "True True");
}

TEST_CASE("a chat template sees the special tokens that the checkpoint has") {
  CHECK(rendered_chat("{{ bos_token }}{{ bos_token is defined }}{{ eos_token }}{{ pad_token }}",
                      json::object(),
                      {{"bos_token", std::nullopt}, {"eos_token", "</s>"}, {"pad_token", "<pad>"}}) ==
        "False</s><pad>");
}

TEST_CASE("a chat template sees the variables of the request") {
  const std::string source = "{% if enable_thinking is defined and enable_thinking is false %}no{% endif %}";
  CHECK(rendered_chat(source) == "");
  CHECK(rendered_chat(source, {{"enable_thinking", true}}) == "");
  CHECK(rendered_chat(source, {{"enable_thinking", false}}) == "no");
}
