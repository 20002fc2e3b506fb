// A TLS connection that carries bytes and nothing else: the limit of a fabric over TLS with one thread on
// each side. A part of `troupe bench fabric --tls`.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "transport/tls/tls.hpp"

namespace troupe {

/// The peer of the measurement: writes as many bytes as it is asked for, until its connection closes.
/// `certificates`: a folder with those of "node", valid for 127.0.0.1. `fd`: socket to the measuring process.
void run_far_tls(int fd, const std::string& certificates);

class bare_tls {
 public:
  /// `fd`: socket to a process in `run_far_tls`. Throws std::runtime_error.
  bare_tls(int fd, const std::string& certificates);
  ~bare_tls();
  bare_tls(const bare_tls&) = delete;
  bare_tls& operator=(const bare_tls&) = delete;

  /// GB/s: the median over `groups` groups of `group_bytes` each.
  double bandwidth(size_t group_bytes, int groups);

 private:
  const tls_context context_;
  const int socket_;
  tls_session session_;
  std::vector<std::byte> target_;
};

}  // namespace troupe
