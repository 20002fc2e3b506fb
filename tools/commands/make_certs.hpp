// `troupe certs`: creates the certificates of a cluster's control lane.
#pragma once
#include <string>
#include <vector>

namespace troupe {

struct make_certs_options {
  std::string folder;
  std::string cluster_file;        ///< its nodes and their hosts; empty: only `nodes`
  std::vector<std::string> nodes;  ///< NAME or NAME=HOST[,HOST...]
  int days = 365;
  bool json = false;
};

/// Creates a CA if the folder has none, and the missing certificates of the nodes and the operator. Prints
/// the written files and the keys for the cluster file. Returns the exit code.
int make_certs(const make_certs_options& options);

}  // namespace troupe
