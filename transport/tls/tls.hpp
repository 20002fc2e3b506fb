// TLS between the nodes of a cluster: version 1.3, and both sides show a certificate that the cluster's own
// CA has signed. Sockets belong to the caller and are non-blocking.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "messages/common/time.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace troupe {

/// PEM files.
struct tls_files {
  std::string ca;
  std::string certificate;
  std::string key;
};

/// What `name` (a node, or `operator_name`) finds in a cluster's certificate folder.
tls_files tls_files_in(const std::string& folder, const std::string& name);
inline constexpr const char* operator_name = "operator";  ///< whose certificate the command tools show

/// What a process trusts and who it is; thread-safe.
class tls_context {
 public:
  /// Throws std::runtime_error that names the file and what is wrong with it.
  explicit tls_context(const tls_files& files);
  ~tls_context();
  tls_context(const tls_context&) = delete;
  tls_context& operator=(const tls_context&) = delete;

 private:
  friend class tls_session;
  std::unique_ptr<ssl_ctx_st, void (*)(ssl_ctx_st*)> context_;
};

/// One connection. Used by one thread at a time; does not close its socket.
class tls_session {
 public:
  enum class progress { done, want_read, want_write, failed };

  /// Accepts a peer with any certificate of the CA.
  tls_session(const tls_context& context, int socket);
  /// Connects to a peer whose certificate must also name `host`, a DNS name or an IP address.
  tls_session(const tls_context& context, int socket, const std::string& host);

  /// Goes on with the handshake. Until it is `done` nothing may be read or written.
  progress handshake();
  /// All of it, waiting for the peer; false if it fails or takes longer than `patience`.
  bool handshake_within(int socket, const clock& time, duration timeout);
  /// `done`: `n` > 0 bytes were read or written. `failed`: the connection is over.
  progress read(void* into, size_t size, size_t& n);
  progress write(const void* from, size_t size, size_t& n);
  /// Bytes that were received and decrypted but not read: no event of the socket announces them.
  size_t pending() const;

  /// The peer has not sent a byte: it only looked whether somebody listens.
  bool silent() const;
  /// After `failed`: why, for a log.
  const std::string& error() const { return error_; }

 private:
  enum class side { accepts, connects };
  tls_session(const tls_context& context, int socket, side ours);
  progress outcome(int result);

  std::unique_ptr<ssl_st, void (*)(ssl_st*)> session_;
  std::string error_;
};

}  // namespace troupe
