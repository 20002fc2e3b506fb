#include "tools/commands/remote_chat_backend.hpp"

#include <fmt/format.h>

#include <future>
#include <memory>
#include <nlohmann/json.hpp>

#include "messages/common/json_text.hpp"
#include "tools/client/event_stream.hpp"

namespace troupe {
namespace {

constexpr duration longest_silence = 10min;  // between two pieces of data from the server
constexpr duration glance = 20ms;            // polling interval of `interrupted`

/// The message of an error in OpenAI's format or ours; else the text unchanged.
std::string message_of(const std::string& body) {
  const auto j = nlohmann::ordered_json::parse(body, nullptr, false);
  if (!j.is_object() || !j.contains("error")) return body;
  const auto& e = j["error"];
  if (e.is_string()) return e;
  if (e.is_object() && e.contains("message") && e["message"].is_string()) return e["message"];
  return body;
}

/// The text that a chunk adds; empty if none.
std::string text_of(const nlohmann::ordered_json& chunk) {
  if (!chunk.is_object() || !chunk.contains("choices")) return {};
  const auto& choices = chunk["choices"];
  if (!choices.is_array() || choices.empty() || !choices[0].is_object()) return {};
  const auto delta = choices[0].find("delta");
  if (delta == choices[0].end() || !delta->is_object()) return {};
  const auto content = delta->find("content");
  return content != delta->end() && content->is_string() ? content->get<std::string>() : std::string();
}

}  // namespace

std::string remote_chat_backend::body(const nlohmann::ordered_json& messages) const {
  nlohmann::ordered_json j{{"model", o_.model}, {"messages", messages}, {"stream", true}};
  if (o_.max_tokens) j["max_tokens"] = *o_.max_tokens;
  if (o_.temperature) j["temperature"] = *o_.temperature;
  if (o_.seed) j["seed"] = *o_.seed;
  return json_text(j);
}

chat_answer remote_chat_backend::answer(const nlohmann::ordered_json& messages,
                                        const std::function<void(const std::string&)>& say,
                                        const std::function<bool()>& interrupted) {
  chat_answer result;  // written by the client's thread until it has ended
  bool done = false;
  std::promise<event_stream_end> ended;
  auto over = ended.get_future();
  auto client = std::make_unique<http_client>(
      http_client_options{.host = url_.host, .port = url_.port, .timeout = longest_silence});
  http_request request{.method = "POST",
                       .path = url_.path + "/v1/chat/completions",
                       .query = {},
                       .headers = o_.headers,
                       .body = body(messages)};
  post_for_events(*client, std::move(request),
                  {[&](const std::string& data, time_point) {
                     done = done || data == "[DONE]";
                     const auto chunk = nlohmann::ordered_json::parse(data, nullptr, false);
                     if (chunk.is_object() && chunk.contains("error")) result.error = message_of(data);
                     const auto text = text_of(chunk);
                     result.text += text;
                     if (!text.empty()) say(text);
                     return true;
                   },
                   [&](event_stream_end end) { ended.set_value(std::move(end)); }});
  bool stopped = false;
  while (!stopped && over.wait_for(glance) != std::future_status::ready) stopped = interrupted();
  if (stopped) client.reset();  // ends the request
  const auto end = over.get();
  result.interrupted = stopped;
  if (stopped || !result.error.empty()) return result;
  if (!end.error.empty())
    result.error = end.error;
  else if (!end.streamed)
    result.error = fmt::format("HTTP {}: {}", end.response.status, message_of(end.response.body));
  else if (!done)
    result.error = "the answer broke off";
  return result;
}

}  // namespace troupe
