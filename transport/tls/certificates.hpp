// The certificates of a cluster: a CA of its own, and one for each node and for whoever operates it. P-256
// keys, PEM files, keys readable by their owner only.
#pragma once
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "transport/tls/tls.hpp"

namespace troupe {

/// One certificate to be made.
struct certificate_request {
  std::string name;                ///< subject, and the name of its files
  std::vector<std::string> hosts;  ///< DNS names and IP addresses that it may answer at
};

/// Makes `folder` if there is none, a CA in it if there is none (ca.pem, ca.key), and NAME.pem and NAME.key
/// for each request, valid from now on for `days` (the CA: ten years). Throws std::runtime_error that names
/// the file, before anything is written if one of them exists already. Returns the files written.
std::vector<std::string> make_certificates(const std::string& folder, const std::string& cluster,
                                           const std::vector<certificate_request>& requests, int days);

/// What is wrong with a node's files, as one sentence that names the file; empty if nothing is: they can be
/// read (the key by its owner's group at most), belong together, are signed by the CA, are valid at `now`
/// (seconds of the Unix epoch) and name `host` (any if empty).
std::string certificate_problem(const tls_files& files, const std::string& host, std::time_t now);

}  // namespace troupe
