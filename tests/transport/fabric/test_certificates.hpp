// Certificates of a fabric test, and of its child processes.
#pragma once
#include <stdlib.h>

#include <string>

#include "tests/temporary_folder.hpp"
#include "tests/transport/fabric/test_fabric.hpp"
#include "transport/tls/certificates.hpp"

namespace troupe::testing {

/// Makes them once, if the tests run over TLS. They are removed at the end of the process.
inline void require_certificates() {
  if (!over_tls()) return;
  static const temporary_folder folder;
  static const std::string made = [] {
    const std::string certs = folder / "certs";
    make_certificates(certs, "test", {{"node", {"localhost", "127.0.0.1"}}}, 30);
    ::setenv(certificates_variable, certs.c_str(), 1);
    return certs;
  }();
}

}  // namespace troupe::testing
