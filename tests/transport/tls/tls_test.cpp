#include "transport/tls/tls.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/temporary_folder.hpp"
#include "transport/tls/certificates.hpp"
#include "transport/tls/tls_handshaker.hpp"

using namespace troupe;

namespace {

const machine_clock the_clock;

/// A folder of certificates: ca, node (at localhost and 127.0.0.1), operator.
struct folder : temporary_folder {
  explicit folder(int days = 30) {
    signal(SIGPIPE, SIG_IGN);
    make_certificates(path, "test", {{"node", {"localhost", "127.0.0.1"}}, {operator_name, {}}}, days);
  }
  tls_files of(const std::string& name) const { return tls_files_in(path, name); }
};

struct sockets {
  std::array<int, 2> ends{};
  sockets() { REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0); }
  ~sockets() {
    for (int s : ends)
      if (s >= 0) close(s);
  }
  int give(size_t i) { return std::exchange(ends[i], -1); }
};

/// A handshaker that records its callbacks.
struct handshaker_probe {
  explicit handshaker_probe(const tls_context& context, tls_handshaker::options o = {64, 5s})
      : handshaker(
            context, the_clock,
            [this](const std::string&, const std::string& why) {
              std::lock_guard lock(mutex);
              refusals.push_back(why);
              changed.notify_all();
            },
            o) {}
  void start(int socket) {
    handshaker.start(socket, [this](int s, std::unique_ptr<tls_session> t) {
      std::lock_guard lock(mutex);
      accepted = s;
      session = std::move(t);
      changed.notify_all();
    });
  }
  bool wait_for(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(20), condition);
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> refusals;
  int accepted = -1;
  std::unique_ptr<tls_session> session;
  tls_handshaker handshaker;
};

std::string read_all(tls_session& s, size_t size) {
  std::string out;
  char buffer[256];
  while (out.size() < size) {
    size_t n = 0;
    const auto p = s.read(buffer, sizeof buffer, n);
    if (p == tls_session::progress::failed) return "failed: " + s.error();
    out.append(buffer, n);
  }
  return out;
}

/// A node and an operator that trust each other, connected.
struct two_peers {
  folder certs;
  tls_context server{certs.of("node")}, client{certs.of(operator_name)};
  sockets pair;
  handshaker_probe d{server};
  tls_session ours{client, pair.ends[0], "localhost"};
  two_peers() {
    d.start(pair.give(1));
    REQUIRE(ours.handshake_within(pair.ends[0], the_clock, 10s));
    REQUIRE(d.wait_for([&] { return d.session != nullptr; }));
  }
  ~two_peers() { close(d.accepted); }
};

}  // namespace

TEST_CASE("two peers with certificates of one CA exchange bytes in both directions") {
  two_peers t;
  auto& ours = t.ours;
  auto& theirs = *t.d.session;
  size_t n = 0;
  REQUIRE(ours.write("ping", 4, n) == tls_session::progress::done);
  CHECK(read_all(theirs, 4) == "ping");
  REQUIRE(theirs.write("pong", 4, n) == tls_session::progress::done);
  CHECK(read_all(ours, 4) == "pong");
  CHECK(t.d.refusals.empty());
}

TEST_CASE("keys are renewed while both sides write, and no byte changes") {
  two_peers t;
  auto& ours = t.ours;
  auto& theirs = *t.d.session;
  ours.renew_keys_after(3);
  theirs.renew_keys_after(5);
  for (int i = 0; i < 100; ++i) {
    const auto text = std::to_string(1'000 + i);
    size_t n = 0;
    REQUIRE(ours.write(text.data(), text.size(), n) == tls_session::progress::done);
    REQUIRE(theirs.write(text.data(), text.size(), n) == tls_session::progress::done);
    REQUIRE(read_all(theirs, text.size()) == text);
    REQUIRE(read_all(ours, text.size()) == text);
  }
  CHECK(ours.renewed_keys() == 33);
  CHECK(theirs.renewed_keys() == 20);
}

TEST_CASE(
    "a peer with another CA's certificate, or without any, or that speaks no TLS, is refused with the "
    "reason") {
  const folder certs, others;
  const tls_context server(certs.of("node"));
  handshaker_probe d(server);

  // another CA; the stranger trusts ours too, so it would talk to us
  auto mixed = others.of(operator_name);
  mixed.ca = certs.of("node").ca;
  const tls_context stranger(mixed);
  sockets a;
  d.start(a.give(1));
  tls_session theirs(stranger, a.ends[0], "localhost");
  theirs.handshake_within(a.ends[0], the_clock, 10s);  // a TLS 1.3 client only notices on read
  REQUIRE(d.wait_for([&] { return d.refusals.size() == 1; }));
  CHECK(d.refusals[0].find("verify failed") != std::string::npos);
  CHECK(read_all(theirs, 1).starts_with("failed"));

  sockets b;
  d.start(b.give(1));
  const std::string plain = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
  REQUIRE(write(b.ends[0], plain.data(), plain.size()) == static_cast<ssize_t>(plain.size()));
  REQUIRE(d.wait_for([&] { return d.refusals.size() == 2; }));
  CHECK(d.session == nullptr);

  sockets probe, again;  // disconnects at once: not logged
  d.start(probe.give(1));
  close(probe.give(0));
  d.start(again.give(1));
  REQUIRE(write(again.ends[0], plain.data(), plain.size()) == static_cast<ssize_t>(plain.size()));
  REQUIRE(d.wait_for([&] { return d.refusals.size() == 3; }));
}

TEST_CASE("a server of another CA, or of another host, is refused") {
  const folder certs, others;
  const tls_context client(certs.of(operator_name)), right(certs.of("node")), wrong(others.of("node"));
  const auto dial = [&](const tls_context& server, const std::string& host) {
    sockets pair;
    handshaker_probe d(server);
    d.start(pair.give(1));
    tls_session ours(client, pair.ends[0], host);
    return ours.handshake_within(pair.ends[0], the_clock, 10s) ? "" : ours.error();
  };
  CHECK(dial(right, "127.0.0.1") == "");
  CHECK(dial(right, "10.0.0.1").find("IP address mismatch") != std::string::npos);
  CHECK(dial(right, "elsewhere").find("hostname mismatch") != std::string::npos);
  CHECK(dial(wrong, "localhost").find("verify failed") != std::string::npos);
}

TEST_CASE("an unfinished handshake ends by its time limit, or as the oldest of too many") {
  const folder certs;
  const tls_context server(certs.of("node"));
  {
    handshaker_probe hurried(server, {64, 50ms});
    sockets slow;
    hurried.start(slow.give(1));
    REQUIRE(hurried.wait_for([&] { return hurried.refusals.size() == 1; }));
    CHECK(hurried.refusals[0] == "the TLS handshake timed out");
    char c;
    CHECK(read(slow.ends[0], &c, 1) == 0);  // closed
  }
  handshaker_probe narrow(server, {2, 1h});
  sockets first, second, third;
  for (auto* s : {&first, &second, &third}) narrow.start(s->give(1));
  REQUIRE(narrow.wait_for([&] { return narrow.refusals.size() == 1; }));
  char c;
  CHECK(read(first.ends[0], &c, 1) == 0);
  CHECK(read(second.ends[0], &c, 1) == -1);  // still open
}

TEST_CASE("a started handshake does not give way to idle connections") {
  const folder certs;
  const tls_context server(certs.of("node")), client(certs.of(operator_name));
  handshaker_probe narrow(server, {2, 1h});
  sockets node, a, b;
  tls_session ours(client, node.ends[0], "localhost");
  REQUIRE(ours.handshake() == tls_session::progress::want_read);
  narrow.start(node.give(1));
  narrow.start(a.give(1));
  narrow.start(b.give(1));
  REQUIRE(narrow.wait_for([&] { return narrow.refusals.size() == 1; }));
  CHECK(ours.handshake_within(node.ends[0], the_clock, 10s));
  CHECK(narrow.wait_for([&] { return narrow.session != nullptr; }));
  char c;
  CHECK(read(a.ends[0], &c, 1) == 0);
  close(narrow.accepted);
}

TEST_CASE("a busy handshaker bounds the connections that wait for it") {
  const folder certs;
  const tls_context server(certs.of("node"));
  std::mutex busy;
  busy.lock();
  tls_handshaker handshaker(server, the_clock,
                            [&](const std::string&, const std::string&) { std::lock_guard wait(busy); },
                            {2, 1h});
  const std::string plain = "GET / HTTP/1.1\r\n\r\n";
  std::vector<sockets> crowd(40);
  const auto closed = [&] {
    char c;
    return std::ranges::count_if(crowd,
                                 [&](auto& s) { return read(s.ends[0], &c, 1) == 0 || errno != EAGAIN; });
  };
  for (auto& s : crowd) {
    CHECK(write(s.ends[0], plain.data(), plain.size()) > 0);
    handshaker.start(s.give(1), [](int, std::unique_ptr<tls_session>) {});
  }
  const auto rejected = closed();
  CHECK(rejected >= 20);  // eight wait; the log line may cover as many again
  CHECK(rejected < 40);
  busy.unlock();
}

TEST_CASE("certificates are made once, with keys that only their owner can read") {
  const folder certs;
  for (const auto* key : {"ca.key", "node.key", "operator.key"}) {
    struct stat s {};
    REQUIRE(stat((certs.path / key).c_str(), &s) == 0);
    CHECK((s.st_mode & 0777) == 0600);
  }
  CHECK_THROWS_WITH_AS(make_certificates(certs.path, "test", {{"fresh", {"h"}}, {"node", {"h"}}}, 30),
                       doctest::Contains("node.pem exists already"), std::runtime_error);
  CHECK_FALSE(std::filesystem::exists(certs.path / "fresh.pem"));
  CHECK(make_certificates(certs.path, "test", {{"fresh", {"h"}}}, 30).size() == 2);  // by the same CA
  CHECK(certificate_problem(certs.of("fresh"), "h", std::time(nullptr)) == "");
  CHECK_THROWS_AS(make_certificates(certs.path, "test", {{"bad", {"a,DNS:b"}}}, 30), std::runtime_error);
}

TEST_CASE("a problem with a node's files is one sentence that names the file") {
  const folder certs, others;
  const auto now = std::time(nullptr);
  const auto good = certs.of("node");
  const auto problem = [&](const tls_files& f, const std::string& host = "localhost", std::time_t at = 0) {
    return certificate_problem(f, host, at == 0 ? now : at);
  };
  CHECK(problem(good) == "");
  CHECK(problem(good, "127.0.0.1") == "");
  CHECK(problem(good, "elsewhere") == good.certificate + ": does not name the host 'elsewhere' of its node");
  CHECK(problem(certs.of("nobody")).find("nobody.pem: No such file") != std::string::npos);
  CHECK(problem(good, "localhost", now + 31 * 86400).find("node.pem: certificate has expired") !=
        std::string::npos);
  CHECK(problem(good, "localhost", now - 86400).find("not yet valid") != std::string::npos);
  CHECK(problem({others.of("node").ca, good.certificate, good.key}).find("must be signed by") !=
        std::string::npos);
  CHECK(problem({good.ca, good.certificate, others.of("node").key}).find("is not the key of") !=
        std::string::npos);
  std::ofstream(good.certificate) << "rubbish";
  CHECK(problem(good) == good.certificate + ": holds no certificate");
  std::filesystem::permissions(certs.of(operator_name).key, std::filesystem::perms(0644));
  CHECK(problem(certs.of(operator_name), "").find("chmod") != std::string::npos);
}
