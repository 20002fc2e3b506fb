// Certificates of a cluster: a CA of its own, one certificate per node, and one for the operator. P-256 keys,
// PEM files, keys readable by their owner only.
#pragma once
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "transport/tls/tls.hpp"

namespace troupe {

/// One certificate to create.
struct certificate_request {
  std::string name;                ///< subject, and the name of its files
  std::vector<std::string> hosts;  ///< DNS names and IP addresses that it is valid for
};

/// Creates `folder` and a CA in it (ca.pem, ca.key) if they are missing, and NAME.pem and NAME.key for each
/// request, valid from now on for `days` (the CA: ten years). Returns the files written. Throws
/// std::runtime_error that names the file, and writes nothing, if one of them exists already.
std::vector<std::string> make_certificates(const std::string& folder, const std::string& cluster,
                                           const std::vector<certificate_request>& requests, int days);

/// Checks a node's files. Returns the problem as one sentence that names the file, or an empty string: the
/// files can be read (the key by its owner's group at most), belong together, are signed by the CA, are valid
/// at `now` (seconds of the Unix epoch) and name `host` (any if empty).
std::string certificate_problem(const tls_files& files, const std::string& host, std::time_t now);

}  // namespace troupe
