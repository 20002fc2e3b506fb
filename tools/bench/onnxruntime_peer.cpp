#include "tools/bench/onnxruntime_peer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>

namespace troupe {

onnxruntime_peer::onnxruntime_peer(const std::string& python) {
  ::signal(SIGPIPE, SIG_IGN);  // a peer that ended is a problem to report
  int to[2], from[2];
  if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) {
    problem_ = "no pipes left";
    return;
  }
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, to[0], 0);
  posix_spawn_file_actions_adddup2(&files, from[1], 1);
  std::string interpreter = python, script = "tools/bench/onnxruntime_peer.py";
  const std::array<char*, 3> argv{interpreter.data(), script.data(), nullptr};
  const int error = ::posix_spawnp(&pid_, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  ::close(to[0]);
  ::close(from[1]);
  requests_ = ::fdopen(to[1], "w");
  answers_ = ::fdopen(from[0], "r");
  if (error != 0) pid_ = -1;

  const auto line = read_line();
  const auto hello = nlohmann::json::parse(line.value_or("{}"), nullptr, false);
  version_ = hello.value("version", "");
  if (!available()) {
    problem_ = fmt::format(
        "onnxruntime is not available ({}): tools/install creates build/python, or give an interpreter with "
        "--python",
        hello.value("error", python + " cannot be run"));
  }
}

onnxruntime_peer::~onnxruntime_peer() {
  if (requests_) std::fclose(requests_);  // the peer ends with its input
  if (answers_) std::fclose(answers_);
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
}

std::optional<std::string> onnxruntime_peer::read_line() {
  std::string line;
  int c = 0;
  while ((c = std::fgetc(answers_)) != EOF && c != '\n') line += static_cast<char>(c);
  return c == EOF ? std::nullopt : std::optional{line};
}

std::optional<double> onnxruntime_peer::measure(const std::string& model_file, uint32_t rows,
                                                duration budget) {
  const nlohmann::json request{{"model", model_file}, {"rows", rows}, {"seconds", to_ms(budget) / 1e3}};
  fmt::print(requests_, "{}\n", request.dump());
  std::fflush(requests_);
  const auto answer = nlohmann::json::parse(read_line().value_or("{}"), nullptr, false);
  if (answer.contains("us")) return answer["us"].get<double>();
  problem_ = fmt::format("onnxruntime, {}: {}", model_file, answer.value("error", "it ended"));
  return std::nullopt;
}

}  // namespace troupe
