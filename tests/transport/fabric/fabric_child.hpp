// A second process with a fabric for tests: starts fabric_peer and exchanges lines with it.
#pragma once
#include <doctest/doctest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <sstream>
#include <string>

#include "tests/transport/fabric/fabric_offer.hpp"
#include "tests/transport/fabric/test_certificates.hpp"

extern char** environ;

namespace troupe::testing {

class fabric_child {
 public:
  /// `extra` is the last argument of fabric_peer: "" or "trusting".
  fabric_child(uint32_t node, uint64_t incarnation, const std::string& extra = "") {
    require_certificates();
    int to[2], from[2];
    REQUIRE(::pipe(to) == 0);
    REQUIRE(::pipe(from) == 0);
    const std::string n = std::to_string(node), l = std::to_string(incarnation);
    const char* argv[] = {TROUPE_FABRIC_PEER, n.c_str(), l.c_str(), extra.c_str(), nullptr};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, to[0], 0);
    posix_spawn_file_actions_adddup2(&files, from[1], 1);
    for (int fd : {to[0], to[1], from[0], from[1]}) posix_spawn_file_actions_addclose(&files, fd);
    REQUIRE(::posix_spawn(&pid_, argv[0], &files, nullptr, const_cast<char**>(argv), environ) == 0);
    posix_spawn_file_actions_destroy(&files);
    ::close(to[0]);
    ::close(from[1]);
    in_ = ::fdopen(from[0], "r");
    out_ = ::fdopen(to[1], "w");
    address_ = from_hex(ask("address"));
  }
  ~fabric_child() {
    std::fclose(out_);      // it ends at the end of its input
    if (stopped_) go_on();  // to no other: SIGCONT takes back the SIGSTOP by which a leak check halts threads
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    std::fclose(in_);
  }
  fabric_child(const fabric_child&) = delete;
  fabric_child& operator=(const fabric_child&) = delete;

  const std::string& address() const { return address_; }
  pid_t pid() const { return pid_; }

  /// Begins a new incarnation with a new address.
  void renew() { address_ = from_hex(ask("renew")); }

  /// Sends a line and returns the answer.
  std::string ask(const std::string& line) {
    send(line);
    char* text = nullptr;
    size_t room = 0;
    const ssize_t n = ::getline(&text, &room, in_);
    std::string out = n > 0 ? std::string(text, static_cast<size_t>(n - 1)) : std::string();
    std::free(text);
    return out;
  }
  uint64_t ask_number(const std::string& line) { return std::stoull(ask(line)); }

  void send(const std::string& line) {
    std::fprintf(out_, "%s\n", line.c_str());
    std::fflush(out_);
  }

  void connect_to(uint32_t node, uint64_t incarnation, const std::string& address) {
    REQUIRE(ask("connect " + std::to_string(node) + " " + std::to_string(incarnation) + " " +
                to_hex(address)) == "ok");
  }

  void stop() {
    ::kill(pid_, SIGSTOP);
    int status = 0;
    REQUIRE(::waitpid(pid_, &status, WUNTRACED) == pid_);
    REQUIRE(WIFSTOPPED(status));
    stopped_ = true;
  }
  void go_on() {
    ::kill(pid_, SIGCONT);
    stopped_ = false;
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
    stopped_ = false;
  }

 private:
  pid_t pid_ = -1;
  bool stopped_ = false;
  FILE* in_ = nullptr;
  FILE* out_ = nullptr;
  std::string address_;
};

}  // namespace troupe::testing
