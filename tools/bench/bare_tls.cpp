#include "tools/bench/bare_tls.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>

#include "messages/common/time.hpp"
#include "tools/bench/forked_process.hpp"
#include "transport/common/tcp_listener.hpp"

namespace troupe {
namespace {

constexpr size_t buffer_bytes = 8u << 20;  // as the pools of the fabrics
constexpr size_t read_ahead_bytes = 64u << 10;
constexpr duration handshake_limit = 10s;

void block(int socket) {
  int no = 0;
  ::ioctl(socket, FIONBIO, &no);
}

/// False at the end of the connection.
bool write_all(tls_session& to, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    size_t n = 0;
    if (to.write(bytes.data(), bytes.size(), n) != tls_session::progress::done) return false;
    bytes = bytes.subspan(n);
  }
  return true;
}

bool read_all(tls_session& from, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    size_t n = 0;
    if (from.read(bytes.data(), bytes.size(), n) != tls_session::progress::done) return false;
    bytes = bytes.subspan(n);
  }
  return true;
}

/// Calls `move` with pieces of the buffer, `bytes` in all, until it returns false.
template <class Byte, class Move>
bool go_through(std::vector<Byte>& buffer, size_t bytes, Move move) {
  while (bytes > 0) {
    const auto piece = std::span(buffer).first(std::min(bytes, buffer.size()));
    if (!move(piece)) return false;
    bytes -= piece.size();
  }
  return true;
}

int accepted(tcp_listener& listener) {
  pollfd wanted{listener.fd(), POLLIN, 0};
  ::poll(&wanted, 1, static_cast<int>(to_ms(handshake_limit)));
  const int socket = listener.accept();
  if (socket < 0) throw std::runtime_error("no connection arrived");
  block(socket);
  return socket;
}

int connected(uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(port);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) return socket;
  ::close(socket);
  throw std::runtime_error("no connection to the peer process");
}

}  // namespace

void run_far_tls(int fd, const std::string& certificates) {
  tcp_listener listener("127.0.0.1", 0, 0);
  send_text(fd, std::to_string(listener.port()));
  const int socket = accepted(listener);
  const machine_clock time;
  const tls_context context(tls_files_in(certificates, "node"));
  tls_session session(context, socket);
  if (session.handshake_within(socket, time, handshake_limit)) {
    std::vector<std::byte> source(buffer_bytes);
    const auto send = [&](std::span<std::byte> piece) { return write_all(session, piece); };
    uint64_t wanted = 0;
    while (read_all(session, std::as_writable_bytes(std::span(&wanted, 1))) &&
           go_through(source, wanted, send)) {
    }
  }
  ::close(socket);
}

bare_tls::bare_tls(int fd, const std::string& certificates)
    : context_(tls_files_in(certificates, "node"), read_ahead_bytes),
      socket_(connected(static_cast<uint16_t>(std::stoi(receive_text(fd))))),
      session_(context_, socket_, "127.0.0.1"),
      target_(buffer_bytes) {
  if (session_.handshake_within(socket_, machine_clock{}, handshake_limit)) return;
  ::close(socket_);
  throw std::runtime_error("TLS: " + session_.error());
}

bare_tls::~bare_tls() { ::close(socket_); }

double bare_tls::bandwidth(size_t group_bytes, int groups) {
  const machine_clock time;
  const uint64_t wanted = group_bytes * static_cast<size_t>(groups);
  bool whole = write_all(session_, std::as_bytes(std::span(&wanted, 1)));
  std::vector<double> took;
  auto began = time.now();
  for (int i = 0; whole && i < groups; ++i) {
    whole = go_through(target_, group_bytes,
                       [&](std::span<std::byte> piece) { return read_all(session_, piece); });
    const auto now = time.now();
    took.push_back(to_seconds(now - std::exchange(began, now)));
  }
  if (!whole) throw std::runtime_error("TLS: " + session_.error());
  std::ranges::nth_element(took, took.begin() + groups / 2);
  return static_cast<double>(group_bytes) / took[static_cast<size_t>(groups) / 2] / 1e9;
}

}  // namespace troupe
