#include "tools/common/control_certificates.hpp"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "transport/tls/certificates.hpp"

namespace troupe {

std::shared_ptr<const tls_context> control_certificates(const cluster_spec& cluster, const std::string& name,
                                                        const std::string& host) {
  const auto& folder = cluster.security.certificates;
  if (folder.empty()) return nullptr;
  const auto files = tls_files_in(folder, name);
  if (const auto wrong = certificate_problem(files, host, std::time(nullptr)); !wrong.empty())
    throw std::runtime_error("certificate of '" + name + "': " + wrong);
  return std::make_shared<tls_context>(files);
}

std::vector<std::string> certificate_problems(const cluster_spec& cluster) {
  const auto& folder = cluster.security.certificates;
  std::vector<std::string> out;
  if (folder.empty()) return out;
  bool any = false;
  const auto absent = [](const std::string& file) {
    std::error_code unreadable;
    return std::filesystem::symlink_status(file, unreadable).type() == std::filesystem::file_type::not_found;
  };
  const auto check = [&](const std::string& name, const std::string& host) {
    const auto files = tls_files_in(folder, name);
    if (absent(files.certificate) && absent(files.key)) return;
    any = true;
    auto wrong = certificate_problem(files, host, std::time(nullptr));
    if (!wrong.empty() && std::ranges::find(out, wrong) == out.end()) out.push_back(std::move(wrong));
  };
  for (const auto& n : cluster.nodes) check(n.name, n.host);
  check(operator_name, "");
  if (!any)
    out.push_back(folder + ": holds no certificate of any node; make them with: troupe certs " + folder +
                  " --cluster FILE");
  return out;
}

}  // namespace troupe
