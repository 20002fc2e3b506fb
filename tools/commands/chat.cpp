#include "tools/commands/chat.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "config/problem.hpp"
#include "gpu/common/model_error.hpp"
#include "tools/client/http_key.hpp"
#include "tools/commands/local_chat_backend.hpp"
#include "tools/commands/remote_chat_backend.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {
namespace {

constexpr size_t longest_error = 500;  // bytes

/// Removes control characters: model output must not control the terminal.
std::string without_controls(std::string text) {
  std::erase_if(text, [](char c) {
    return (static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t') || c == 127;
  });
  return text;
}

class conversation {
 public:
  conversation(chat_backend& backend, const std::string& system, const chat_terminal& terminal)
      : backend_(backend), terminal_(terminal) {
    if (!system.empty()) say("system", system);
  }

  /// Whether the message was answered; one without an answer leaves the conversation.
  bool exchange(const std::string& line) {
    say("user", line);
    auto answer = backend_.answer(
        messages_, [this](const std::string& text) { terminal_.out << without_controls(text) << std::flush; },
        terminal_.interrupted);
    if (!answer.text.empty() && !answer.text.ends_with('\n')) terminal_.out << '\n';
    terminal_.out << std::flush;
    const bool answered = answer.error.empty();
    if (answered && !(answer.interrupted && answer.text.empty())) {
      say("assistant", std::move(answer.text));
      return true;
    }
    messages_.erase(messages_.size() - 1);
    if (answered) return true;
    terminal_.err << "chat: " << one_line(answer.error).substr(0, longest_error) << std::endl;
    return false;
  }

 private:
  void say(const char* role, std::string text) {
    messages_.push_back({{"role", role}, {"content", std::move(text)}});
  }

  chat_backend& backend_;
  const chat_terminal& terminal_;
  nlohmann::ordered_json messages_ = nlohmann::ordered_json::array();
};

volatile std::sig_atomic_t interrupts = 0;

/// During its lifetime Ctrl-C is counted and does not end the program.
class counted_interrupts {
 public:
  counted_interrupts() {
    struct sigaction action {};
    action.sa_handler = [](int) { interrupts = 1; };
    action.sa_flags = SA_RESTART;
    interrupts = 0;
    ::sigaction(SIGINT, &action, &before_);
  }
  ~counted_interrupts() { ::sigaction(SIGINT, &before_, nullptr); }
  counted_interrupts(const counted_interrupts&) = delete;
  counted_interrupts& operator=(const counted_interrupts&) = delete;

 private:
  struct sigaction before_ {};
};

/// Null, with a message, if there is no server at this address.
std::unique_ptr<chat_backend> chat_backend_of(const chat_options& o, std::ostream& err) {
  std::error_code unreadable;
  if (std::filesystem::is_directory(o.where, unreadable)) try {
      return make_local_chat_backend(o);
    } catch (const model_error& e) {
      err << "chat: " << e.what() << '\n';
      return nullptr;
    }
  if (!o.adapter.empty()) {
    err << "chat: --adapter is for a checkpoint folder; give an adapter of a server with --model\n";
    return nullptr;
  }
  if (auto url = parse_http_url(o.where)) return std::make_unique<remote_chat_backend>(o, std::move(*url));
  err << fmt::format("chat: \"{}\" is neither http://HOST:PORT nor a folder\n", o.where);
  return nullptr;
}

}  // namespace

int converse(const chat_options& o, const chat_terminal& terminal) {
  const auto backend = chat_backend_of(o, terminal.err);
  if (!backend) return exit_bad_input;
  conversation talk(*backend, o.system, terminal);
  int code = exit_done;
  for (std::string line;;) {
    if (terminal.prompts) terminal.out << "> " << std::flush;
    if (!std::getline(terminal.in, line)) break;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const counted_interrupts guard;
    if (talk.exchange(line)) continue;
    code = exit_failed;
    if (!terminal.prompts) break;
  }
  if (terminal.prompts) terminal.out << std::endl;
  return code;
}

int run_chat(const chat_options& o) {
  auto with_key = o;
  try {
    with_key.headers = with_api_key(std::move(with_key.headers), o.key_file);
  } catch (const api_key_error& e) {
    report("chat: {}", e.what());
    return exit_bad_input;
  }
  return converse(with_key, {.in = std::cin,
                             .out = std::cout,
                             .err = std::cerr,
                             .prompts = ::isatty(STDIN_FILENO) == 1,
                             .interrupted = [] { return interrupts != 0; }});
}

}  // namespace troupe
