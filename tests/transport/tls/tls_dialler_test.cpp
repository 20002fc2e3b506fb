#include "transport/tls/tls_dialler.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <future>
#include <optional>
#include <string>

#include "tests/temporary_folder.hpp"
#include "transport/common/tcp_listener.hpp"
#include "transport/tls/certificates.hpp"

using namespace troupe;

namespace {

struct dialled {
  int socket = -1;
  bool session = false;
  std::string problem;
};

/// A dialler, and a listener that it dials.
struct dial_stage : temporary_folder {
  dial_stage() {
    signal(SIGPIPE, SIG_IGN);
    make_certificates(path / "certs", "test", {{"node", {"127.0.0.1"}}}, 1);
    context.emplace(tls_files_in(path / "certs", "node"));
    dialler.emplace(*context, time, tls_dialler::options{.attempt = 500ms, .total = 1500ms});
  }
  std::future<dialled> dial(const std::string& host, uint16_t port) {
    auto end = std::make_shared<std::promise<dialled>>();
    dialler->dial(host, port, [end](int socket, std::unique_ptr<tls_session> session, std::string problem) {
      end->set_value({socket, session != nullptr, std::move(problem)});
      session.reset();
      if (socket >= 0) ::close(socket);
    });
    return end->get_future();
  }
  /// Takes the next connection to the listener, with or without a handshake.
  void answer(bool handshake) {
    int socket = -1;
    for (int i = 0; socket < 0 && i < 5000; ++i) {
      socket = listener.accept();
      if (socket < 0) ::usleep(1000);
    }
    REQUIRE(socket >= 0);
    if (handshake) {
      tls_session session(*context, socket);
      CHECK(session.handshake_within(socket, time, 5s));
    }
    ::close(socket);
  }

  machine_clock time;
  tcp_listener listener{"127.0.0.1", 0, 0};
  std::optional<tls_context> context;
  std::optional<tls_dialler> dialler;
};

}  // namespace

TEST_CASE("a dial ends with a session") {
  dial_stage s;
  auto end = s.dial("127.0.0.1", s.listener.port());
  s.answer(true);
  const auto d = end.get();
  CHECK(d.socket >= 0);
  CHECK(d.session);
  CHECK(d.problem.empty());
}

TEST_CASE("a dial is repeated if the connection ends before the handshake") {
  dial_stage s;
  auto end = s.dial("127.0.0.1", s.listener.port());
  s.answer(false);
  s.answer(true);
  CHECK(end.get().session);
}

TEST_CASE("a dial that is refused, or to no host, ends at once with the reason") {
  dial_stage s;
  uint16_t port = 0;
  {
    const tcp_listener gone("127.0.0.1", 0, 0);
    port = gone.port();
  }
  CHECK(s.dial("127.0.0.1", port).get().problem ==
        "127.0.0.1:" + std::to_string(port) + ": Connection refused");
  const auto nowhere = s.dial("no host", 1).get();
  CHECK(nowhere.socket == -1);
  CHECK(nowhere.problem.find("no host:1: ") == 0);
}

TEST_CASE("a dial without an answer, and a dialler that is destroyed, do not wait for ever") {
  dial_stage s;
  const auto began = s.time.now();
  CHECK(s.dial("127.0.0.1", s.listener.port()).get().problem.find("the TLS handshake timed out") !=
        std::string::npos);
  CHECK(s.time.now() - began >= 500ms);
  auto pending = s.dial("127.0.0.1", s.listener.port());
  s.dialler.reset();
  CHECK(pending.get().socket == -1);
}
