#include "transport/tls/tls.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include <stdexcept>

namespace troupe {
namespace {

std::string newest_error() {
  const auto code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "unknown reason";
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "error " + std::to_string(code);
}

[[noreturn]] void refuse_file(const std::string& file, const std::string& what) {
  throw std::runtime_error(file + ": " + what + ": " + newest_error() +
                           "; make certificates with: troupe certs FOLDER");
}

}  // namespace

tls_files tls_files_in(const std::string& folder, const std::string& name) {
  return {folder + "/ca.pem", folder + "/" + name + ".pem", folder + "/" + name + ".key"};
}

tls_context::tls_context(const tls_files& files, size_t read_ahead)
    : context_(SSL_CTX_new(TLS_method()), SSL_CTX_free) {
  auto* c = context_.get();
  if (c == nullptr) throw std::runtime_error("OpenSSL: " + newest_error());
  SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION);
  SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  // No session resumption: connections are few, and a ticket would outlive a certificate.
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(c, 0);
  SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (read_ahead != 0) {
    SSL_CTX_set_read_ahead(c, 1);
    SSL_CTX_set_default_read_buffer_len(c, read_ahead);
  }
  if (SSL_CTX_load_verify_file(c, files.ca.c_str()) != 1)
    refuse_file(files.ca, "no CA certificate can be read");
  if (SSL_CTX_use_certificate_chain_file(c, files.certificate.c_str()) != 1)
    refuse_file(files.certificate, "no certificate can be read");
  if (SSL_CTX_use_PrivateKey_file(c, files.key.c_str(), SSL_FILETYPE_PEM) != 1)
    refuse_file(files.key, "no private key of " + files.certificate + " can be read");
}

tls_context::~tls_context() = default;

tls_session::tls_session(const tls_context& context, int socket, side ours)
    : session_(SSL_new(context.context_.get()), SSL_free) {
  if (!session_ || SSL_set_fd(session_.get(), socket) != 1)
    throw std::runtime_error("OpenSSL: " + newest_error());
  if (ours == side::accepts)
    SSL_set_accept_state(session_.get());
  else
    SSL_set_connect_state(session_.get());
}

tls_session::tls_session(const tls_context& context, int socket)
    : tls_session(context, socket, side::accepts) {}

tls_session::tls_session(const tls_context& context, int socket, const std::string& host)
    : tls_session(context, socket, side::connects) {
  auto* wanted = SSL_get0_param(session_.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1) return;
  ERR_clear_error();  // no address, so a name
  if (X509_VERIFY_PARAM_set1_host(wanted, host.data(), host.size()) != 1)
    throw std::runtime_error("'" + host + "' is not a host name");
}

tls_session::progress tls_session::handshake() {
  ERR_clear_error();
  return outcome(SSL_do_handshake(session_.get()));
}

bool tls_session::handshake_within(int socket, const clock& time, duration timeout) {
  const auto until = time.now() + timeout;
  for (;;) {
    const auto p = handshake();
    if (p == progress::done) return true;
    if (p == progress::failed) return false;
    const auto left = to_ms(until - time.now());
    pollfd wanted{socket, static_cast<short>(p == progress::want_read ? POLLIN : POLLOUT), 0};
    if (left <= 0 || poll(&wanted, 1, static_cast<int>(left) + 1) == 0) {
      error_ = "the TLS handshake timed out";
      return false;
    }
  }
}

tls_session::progress tls_session::read(void* into, size_t size, size_t& n) {
  ERR_clear_error();
  n = 0;
  return outcome(SSL_read_ex(session_.get(), into, size, &n));
}

tls_session::progress tls_session::write(const void* from, size_t size, size_t& n) {
  ERR_clear_error();
  n = 0;
  const auto p = outcome(SSL_write_ex(session_.get(), from, size, &n));
  count_records(n);
  return p;
}

/// The message with the new keys precedes the next bytes that are written.
void tls_session::count_records(size_t written) {
  records_ += (written + SSL3_RT_MAX_PLAIN_LENGTH - 1) / SSL3_RT_MAX_PLAIN_LENGTH;
  if (records_ < key_records_) return;
  if (SSL_key_update(session_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1) {
    ERR_clear_error();  // a record is not written yet: after the next one
    return;
  }
  records_ = 0;
  ++renewed_keys_;
}

size_t tls_session::pending() const { return static_cast<size_t>(SSL_pending(session_.get())); }

bool tls_session::silent() const { return BIO_number_read(SSL_get_rbio(session_.get())) == 0; }

tls_session::progress tls_session::outcome(int result) {
  if (result == 1) return progress::done;
  switch (SSL_get_error(session_.get(), result)) {
    case SSL_ERROR_WANT_READ: return progress::want_read;
    case SSL_ERROR_WANT_WRITE: return progress::want_write;
    case SSL_ERROR_ZERO_RETURN: error_ = "the peer closed the connection"; break;
    case SSL_ERROR_SYSCALL: error_ = "the connection broke"; break;
    default: {
      if (ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        ERR_clear_error();
        error_ = "the peer closed the connection";
        break;
      }
      error_ = newest_error();
      const auto verified = SSL_get_verify_result(session_.get());
      if (verified != X509_V_OK) error_ += std::string(": ") + X509_verify_cert_error_string(verified);
      if (verified == X509_V_ERR_CERT_HAS_EXPIRED)
        error_ += "; the peer needs a new certificate from troupe certs";
    }
  }
  return progress::failed;
}

}  // namespace troupe
