// A chat backend on an OpenAI-compatible server.
#pragma once
#include "tools/client/http_client.hpp"
#include "tools/commands/chat.hpp"
#include "tools/commands/chat_backend.hpp"

namespace troupe {

class remote_chat_backend final : public chat_backend {
 public:
  /// Uses the model, the headers and the sampling options of `o`. `o` outlives it.
  remote_chat_backend(const chat_options& o, http_url url) : o_(o), url_(std::move(url)) {}
  chat_answer answer(const nlohmann::ordered_json& messages,
                     const std::function<void(const std::string&)>& say,
                     const std::function<bool()>& interrupted) override;

 private:
  std::string body(const nlohmann::ordered_json& messages) const;

  const chat_options& o_;
  const http_url url_;
};

}  // namespace troupe
