#include "tools/commands/make_certs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <system_error>

#include "config/cluster_file.hpp"
#include "messages/common/json_text.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"
#include "transport/tls/certificates.hpp"

namespace troupe {
namespace {

/// "NAME=HOST,HOST"; nothing if the text is invalid.
std::optional<certificate_request> parse_node(const std::string& text) {
  const auto equals = text.find('=');
  certificate_request r{text.substr(0, equals), {}};
  std::istringstream hosts(equals == std::string::npos ? "" : text.substr(equals + 1));
  for (std::string host; std::getline(hosts, host, ',');) r.hosts.push_back(host);
  const bool is_name = !r.name.empty() && r.name.find_first_not_of(
                                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                              "0123456789_-.") == std::string::npos;
  if (!is_name || r.name == "ca" || r.name.starts_with('.')) return {};
  if (r.hosts.empty()) r.hosts = {r.name};
  return r;
}

}  // namespace

int make_certs(const make_certs_options& options) {
  std::vector<certificate_request> wanted;
  std::string cluster = "troupe";
  if (!options.cluster_file.empty()) {
    const auto reading = read_cluster(options.cluster_file);
    for (const auto& p : reading.problems) report("{}", to_string(p));
    if (!reading.ok()) return exit_bad_input;
    cluster = reading.spec.name;
    for (const auto& n : reading.spec.nodes) {
      if (n.name == "ca" || n.name == operator_name) {
        report("troupe: node '{}' has the name of another certificate; rename it", n.name);
        return exit_bad_input;
      }
      wanted.push_back({n.name, {n.host}});
    }
  }
  for (const auto& text : options.nodes) {
    auto node = parse_node(text);
    if (!node) {
      report("troupe: --node '{}' must be NAME or NAME=HOST,HOST...", text);
      return exit_bad_input;
    }
    wanted.push_back(std::move(*node));
  }
  const auto exists = [&](const std::string& name) {
    std::error_code unreadable;
    return std::filesystem::exists(options.folder + "/" + name + ".pem", unreadable);
  };
  if (!exists(operator_name)) wanted.push_back({operator_name, {}});
  try {
    const auto written = make_certificates(options.folder, cluster, wanted, options.days);
    if (options.json) {
      fmt::print("{}\n", json_text(nlohmann::json{{"folder", options.folder}, {"written", written}}, 2));
      return exit_done;
    }
    for (const auto& file : written) fmt::print("{}\n", file);
    fmt::print(
        "\nPut this into the cluster file:\n"
        "\n"
        "    [security]\n"
        "    certificates = \"{}\"\n"
        "\n"
        "Copy ca.pem and the .pem and .key of its own nodes to each host. The operator needs ca.pem, "
        "operator.pem\n"
        "and operator.key. Keep ca.key on a host without nodes: its owner can add nodes to the cluster.\n",
        options.folder);
    return exit_done;
  } catch (const std::filesystem::filesystem_error& e) {
    report("troupe: {}: {}", e.path1().string(), e.code().message());
    return exit_failed;
  } catch (const std::exception& e) {
    report("troupe: {}", e.what());
    return exit_failed;
  }
}

}  // namespace troupe
