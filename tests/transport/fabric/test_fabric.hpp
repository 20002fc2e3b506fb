// The fabric between processes that the tests run over. TROUPE_TEST_FABRIC chooses it, "ucx", "tls" or
// "paced" (UCX, paced); with UCX, UCX_TLS chooses the transport.
#pragma once
#include <signal.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transport/fabric/paced_fabric.hpp"
#include "transport/fabric/tls/address.hpp"
#include "transport/fabric/tls_fabric.hpp"
#include "transport/fabric/ucx/address.hpp"
#include "transport/fabric/ucx_fabric.hpp"

namespace troupe::testing {

inline bool fabric_is(const char* kind) {
  const char* fabric = std::getenv("TROUPE_TEST_FABRIC");
  return fabric != nullptr && std::string(fabric) == kind;
}
inline bool over_tls() { return fabric_is("tls"); }

/// Of each process, if the fabric is paced.
inline constexpr double paced_gbit_per_s = 8;

/// Names the folder of the certificates for "node". The tests make it (test_certificates.hpp), and their
/// child processes inherit the variable.
inline constexpr const char* certificates_variable = "TROUPE_TEST_CERTIFICATES";

struct test_fabric_options : fabric_options {
  pull_path pulls = pull_path::automatic;  ///< of UCX
};

inline test_fabric_options test_options(uint32_t node, uint64_t incarnation) {
  test_fabric_options o;
  o.self = node_id{node};
  o.incarnation = incarnation_id{incarnation};
  o.secret = 1000 + node;
  return o;
}

/// The ways of pulling that the fabric has.
inline std::vector<pull_path> pull_paths() {
  if (over_tls()) return {pull_path::by_message};
  // Over shared memory, pulls by message with frames between them to a killed peer can stop UCX itself.
  if (fabric_is("paced")) return {pull_path::automatic, pull_path::one_sided};
  return {pull_path::automatic, pull_path::one_sided, pull_path::by_message};
}

inline std::unique_ptr<fabric> make_test_fabric(const test_fabric_options& options, const clock& clock) {
  if (over_tls()) {
    ::signal(SIGPIPE, SIG_IGN);
    const auto files = tls_files_in(std::getenv(certificates_variable), "node");
    tls_fabric_options o{options, files, "localhost", "127.0.0.1", 0, 0, {}};
    return make_tls_fabric(o, clock);
  }
  ucx_options o;
  static_cast<fabric_options&>(o) = options;
  o.pulls = options.pulls;
  o.environment.emplace_back("UCX_NET_DEVICES", "lo");
  auto made = make_ucx_fabric(o, clock);
  if (!fabric_is("paced")) return made;
  return make_paced_fabric(std::move(made), {options.self, paced_gbit_per_s}, clock);
}

template <class Address>
std::string with_another_secret_in(const std::string& address) {
  Address guessed;
  if (!decode(address, guessed).empty()) std::abort();
  guessed.secret += 1;
  return encode(guessed);
}

/// The address with a guessed secret.
inline std::string with_another_secret(const std::string& address) {
  return over_tls() ? with_another_secret_in<tls_address>(address)
                    : with_another_secret_in<ucx_address>(address);
}

}  // namespace troupe::testing
