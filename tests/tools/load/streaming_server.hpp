// A server that streams chunks of OpenAI's API, as scripted by a test.
#pragma once
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "transport/http/router.hpp"
#include "transport/http/server.hpp"

namespace troupe {

inline std::string event_of(const std::string& data) { return "data: " + data + "\n\n"; }

/// Chunks of /v1/completions with one choice.
inline std::string completion_chunk(const std::string& text) {
  return event_of(nlohmann::json{{"choices", {{{"index", 0}, {"text", text}}}}}.dump());
}
inline std::string usage_chunk(int prompt, int completion) {
  return event_of(nlohmann::json{{"choices", nlohmann::json::array()},
                                 {"usage", {{"prompt_tokens", prompt}, {"completion_tokens", completion}}}}
                      .dump());
}
/// Of /v1/chat/completions.
inline std::string chat_chunk(const std::string& text) {
  return event_of(nlohmann::json{{"choices", {{{"index", 0}, {"delta", {{"content", text}}}}}}}.dump());
}

class streaming_server {
 public:
  /// Gets the parsed body of each POST to `path`, on the server's thread.
  using script = std::function<void(const nlohmann::json& body, http_reply reply)>;

  streaming_server(std::string_view path, script answer) : server_({}, router_) {
    router_.add("POST", path, [this, answer](http_request r, const path_parameters&, http_reply reply) {
      auto body = nlohmann::json::parse(r.body, nullptr, false);
      {
        std::lock_guard lock(mutex_);
        asked_.push_back(body);
      }
      answer(body, std::move(reply));
    });
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }
  uint16_t port() const { return server_.port(); }
  std::vector<nlohmann::json> asked() {
    std::lock_guard lock(mutex_);
    return asked_;
  }
  static http_stream begin(http_reply& reply) {
    return reply.begin({.content_type = "text/event-stream", .headers = {}, .body = {}});
  }

 private:
  std::mutex mutex_;
  std::vector<nlohmann::json> asked_;
  http_router router_;
  http_server server_;
};

}  // namespace troupe
