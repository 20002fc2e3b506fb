// `troupe chat`: a conversation in the terminal with a language model: that an OpenAI-compatible
// server has, or of a folder.
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
  std::string model = {};                   ///< of a server
  std::string adapter = {};                 ///< of a folder: that of an adapter; empty: the base model
  std::string system = {};                  ///< the system's message; empty: none
  std::optional<uint32_t> max_tokens = {};  ///< of an answer
  std::optional<double> temperature = {};
  std::optional<uint64_t> seed = {};
  std::string key_file = {};  ///< API key of `run_chat`; empty: the environment's TROUPE_API_KEY, or none
  http_headers headers = {};  ///< with every request
};

/// Where a conversation takes place.
struct chat_terminal {
  std::istream& in;      ///< a line is a message; empty ones are passed over
  std::ostream& out;     ///< answers, as they come
  std::ostream& err;     ///< one line for what went wrong
  bool prompts = false;  ///< a person types: says whose turn it is, and goes on after an error
  /// Asked now and then while an answer comes: true ends it. What has come stays part of the conversation.
  std::function<bool()> interrupted = [] { return false; };
};

/// Until the end of `in`. 0: every message was answered; 1: one was not (without `prompts` it is the last),
/// 2: nobody is there to be
/// talked with.
int converse(const chat_options& options, const chat_terminal& terminal);

/// converse() at standard input and output; Ctrl-C ends an answer, and between answers the program.
int run_chat(const chat_options& options);

}  // namespace troupe
