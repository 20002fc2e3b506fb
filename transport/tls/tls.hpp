// TLS 1.3 between the nodes of a cluster. Both sides show a certificate signed by the cluster's own CA.
// Sockets belong to the caller and are non-blocking.
#pragma once
#include <cstddef>
#include <cstdint>
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

/// The files of `name` (a node, or `operator_name`) in a cluster's certificate folder.
tls_files tls_files_in(const std::string& folder, const std::string& name);
inline constexpr const char* operator_name = "operator";  ///< name of the certificate of the command tools

/// Trusted CA and own certificate of a process; thread-safe.
class tls_context {
 public:
  /// Sessions read up to `read_ahead` bytes at once from their sockets; 0: a TLS record at a time, in two
  /// steps. Then bytes may wait in a session that no event of the socket announces: read until `want_read`.
  /// Throws std::runtime_error that names the file and its problem.
  explicit tls_context(const tls_files& files, size_t read_ahead = 0);
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

  /// Continues the handshake. Until it is `done` nothing may be read or written.
  progress handshake();
  /// The whole handshake, waiting for the peer; false if it fails or takes longer than `timeout`.
  bool handshake_within(int socket, const clock& time, duration timeout);
  /// `done`: `n` > 0 bytes were read or written. `failed`: the connection is over.
  progress read(void* into, size_t size, size_t& n);
  progress write(const void* from, size_t size, size_t& n);
  /// Renews the keys of what this side writes after so many TLS records. AES-GCM is good for 2^24.5 records
  /// of full size under one key (RFC 8446, 5.5).
  void renew_keys_after(uint64_t records) { key_records_ = records; }
  uint64_t renewed_keys() const { return renewed_keys_; }
  /// Bytes that were received and decrypted but not read: no event of the socket announces them.
  size_t pending() const;

  /// The peer has not sent a byte: it was only a probe of the port.
  bool silent() const;
  /// After `failed`: the reason, for a log.
  const std::string& error() const { return error_; }

 private:
  enum class side { accepts, connects };
  tls_session(const tls_context& context, int socket, side ours);
  progress outcome(int result);
  void count_records(size_t written);

  std::unique_ptr<ssl_st, void (*)(ssl_st*)> session_;
  std::string error_;
  uint64_t key_records_ = uint64_t{1} << 23;
  uint64_t records_ = 0;  ///< written since the last renewal
  uint64_t renewed_keys_ = 0;
};

}  // namespace troupe
