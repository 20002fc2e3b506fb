// Any text is refused as a chat template, or renders a conversation, or refuses it: deterministically, and
// within its bounds of time, memory and stack.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "gpu/chat_template/chat_template.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/common/request_refused.hpp"

using namespace troupe;
using json = nlohmann::ordered_json;

namespace {

constexpr size_t max_text_bytes = size_t{4} << 20;

const json& variables() {
  static const auto v = json::parse(R"({
    "messages": [
      {"role": "system", "content": " Be brief. "},
      {"role": "user", "content": "What is the weather in Zürich?\n"},
      {"role": "assistant", "content": null, "tool_calls": [{"id": "abcdef123", "type": "function",
        "function": {"name": "weather", "arguments": {"city": "Zürich", "days": [1, 2.5, true, null]}}}]},
      {"role": "tool", "tool_call_id": "abcdef123", "content": [{"type": "text", "text": "sunny"}]},
      {"role": "assistant", "content": "<think>\nhm\n</think>\nSunny."},
      {"role": "user", "content": "Thanks"}],
    "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
      "properties": {"city": {"type": "string"}}}}}],
    "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>", "strftime_now": "2024-07-26"})");
  return v;
}

/// The text, or nothing if the template refuses the conversation.
std::optional<std::string> render(const llm::chat_template& t) {
  try {
    return t.render(variables());
  } catch (const request_refused& e) {
    if (std::string_view(e.what()).empty()) std::abort();
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::optional<llm::chat_template> t;
  try {
    t.emplace(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.jinja");
  } catch (const model_error& e) {
    if (!std::string_view(e.what()).starts_with("fuzz.jinja")) std::abort();
    return 0;
  }
  const auto text = render(*t);
  if (text && text->size() > max_text_bytes) std::abort();
  if (size < 1000 && render(*t) != text) std::abort();
  return 0;
}
