// Interface of a conversation's model: a server (tools/commands/remote_chat_backend.hpp) or a model in this
// process (tools/commands/local_chat_backend.hpp).
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace troupe {

struct chat_answer {
  std::string text;
  std::string error;  ///< empty: the answer is complete, or was interrupted
  bool interrupted = false;
};

class chat_backend {
 public:
  virtual ~chat_backend() = default;
  /// The answer to `messages` (role, content); the last one is the user's. Calls `say` with each piece as it
  /// arrives, and polls `interrupted`: true ends the answer.
  virtual chat_answer answer(const nlohmann::ordered_json& messages,
                             const std::function<void(const std::string&)>& say,
                             const std::function<bool()>& interrupted) = 0;
};

}  // namespace troupe
