// `troupe chat`: a conversation in the terminal with a language model, of an OpenAI-compatible server or from
// a folder.
#pragma once
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include "transport/http/message.hpp"

namespace troupe {

struct chat_options {
  std::string where;  ///< http://HOST:PORT; or the folder of a checkpoint, which then runs in this process
  std::string model = {};    ///< of a server
  std::string adapter = {};  ///< with a folder: the folder of an adapter; empty: the base model
  std::string system = {};   ///< the system's message; empty: none
  std::optional<uint32_t> max_tokens = {};  ///< of an answer
  std::optional<double> temperature = {};
  std::optional<uint64_t> seed = {};
  std::string key_file = {};  ///< API key of `run_chat`; empty: the environment's TROUPE_API_KEY, or none
  http_headers headers = {};  ///< with every request
};

/// Input and output of a conversation.
struct chat_terminal {
  std::istream& in;      ///< a line is a message; empty lines are skipped
  std::ostream& out;     ///< answers, streamed
  std::ostream& err;     ///< one line per error
  bool prompts = false;  ///< interactive: shows prompts, and goes on after an error
  /// Polled while an answer is streamed; true ends it. The text so far stays in the conversation.
  std::function<bool()> interrupted = [] { return false; };
};

/// Runs until the end of `in`. Returns 0 if every message was answered, 1 if one was not (without `prompts`
/// it is the last), 2 if there is no model.
int converse(const chat_options& options, const chat_terminal& terminal);

/// converse() on standard input and output; Ctrl-C ends an answer, and between answers the program.
int run_chat(const chat_options& options);

}  // namespace troupe
