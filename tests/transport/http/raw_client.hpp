// A client that sends exactly the bytes a test wants, at the pace it wants.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

class http_raw_client {
 public:
  struct answer {
    int status = 0;  ///< 0: the connection ended before an answer
    std::string head;
    std::string body;
    bool has(std::string_view text) const { return head.find(text) != std::string::npos; }
  };

  explicit http_raw_client(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      ::close(fd_);
      throw std::runtime_error("cannot connect");
    }
    const int one = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  http_raw_client(http_raw_client&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), rest_(std::move(other.rest_)) {}
  ~http_raw_client() { disconnect(); }

  void disconnect() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

  /// Ends the sending direction; answers can still be read.
  void half_close() { ::shutdown(fd_, SHUT_WR); }

  /// False if the server has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  bool get(std::string_view path) {
    return send("GET " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n\r\n");
  }
  bool post(std::string_view path, std::string_view body) {
    return send("POST " + std::string(path) + " HTTP/1.1\r\nHost: test\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
  }

  /// The next answer (with Content-Length, as this server always sends it).
  answer receive(std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    auto a = receive_head(timeout);
    const auto length = a.head.find("Content-Length: ");
    const size_t size = length == std::string::npos ? 0 : std::stoul(a.head.substr(length + 16));
    while (rest_.size() < size)
      if (!read_more(until)) return {};
    a.body = rest_.substr(0, size);
    rest_.erase(0, size);
    return a;
  }

  /// The next answer if it has no body, as to HEAD.
  answer receive_head(std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    size_t end;
    while ((end = rest_.find("\r\n\r\n")) == std::string::npos)
      if (!read_more(until)) return {};
    answer a{.status = std::stoi(rest_.substr(9, 3)), .head = rest_.substr(0, end + 4), .body = {}};
    rest_.erase(0, end + 4);
    return a;
  }

  /// The next chunk of a body; empty: the last one. Nothing if the connection ends before.
  std::optional<std::string> receive_chunk(std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    size_t end;
    while ((end = rest_.find("\r\n")) == std::string::npos)
      if (!read_more(until)) return {};
    const size_t size = std::stoul(rest_, nullptr, 16);
    while (rest_.size() < end + 2 + size + 2)
      if (!read_more(until)) return {};
    if (rest_.substr(end + 2 + size, 2) != "\r\n") throw std::runtime_error("not a chunk");
    auto chunk = rest_.substr(end + 2, size);
    rest_.erase(0, end + 2 + size + 2);
    return chunk;
  }

  /// The next bytes; fewer if the connection ends before.
  std::string receive_bytes(size_t size, std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    while (rest_.size() < size && read_more(until)) {
    }
    auto bytes = rest_.substr(0, size);
    rest_.erase(0, size);
    return bytes;
  }

  /// Whether the connection ended with a reset.
  bool was_reset() const { return reset_; }

  /// Whether the server closes within the time; further bytes are discarded.
  bool closed_within(std::chrono::milliseconds timeout) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    while (read_more(until)) rest_.clear();
    return std::chrono::steady_clock::now() < until;
  }

 private:
  bool read_more(std::chrono::steady_clock::time_point until) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd p{.fd = fd_, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&p, 1, static_cast<int>(left.count())) <= 0) return false;
    char chunk[16384];
    const auto n = ::recv(fd_, chunk, sizeof chunk, 0);
    reset_ = n < 0 && errno == ECONNRESET;
    if (n <= 0) return false;
    rest_.append(chunk, static_cast<size_t>(n));
    return true;
  }

  int fd_;
  std::string rest_;
  bool reset_ = false;
};

}  // namespace troupe
