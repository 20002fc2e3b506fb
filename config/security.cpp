#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "config/data_lane.hpp"
#include "config/sections.hpp"
#include "config/security.hpp"
#include "config/text_file.hpp"
#include "messages/common/host_port.hpp"
#include "transport/common/loopback.hpp"
#include "transport/tls/api_key.hpp"

namespace troupe {

namespace {

constexpr size_t shortest_key = 16;

/// Neither `config dump` nor the input of the cluster's hash shows a key.
void hide(section& s, std::string_view key) { s.recorded(key).value = std::string("(hidden)"); }

/// `key`, `key_file` or `key_sha256`: exactly one.
api_key_spec read_key(section& s, const std::filesystem::path& directory) {
  const auto given = s.has("key") + s.has("key_file") + s.has("key_sha256");
  if (given != 1) {
    s.refuse(given == 0 ? "has no key; give one of key, key_file and key_sha256"
                        : "has several keys; give one of key, key_file and key_sha256");
    for (const auto* key : {"key", "key_file", "key_sha256"}) s.unused(key);
    return {};
  }
  api_key_spec out;
  if (s.has("key")) {
    const auto key = s.text("key");
    hide(s, "key");
    if (!key.empty() && key.size() < shortest_key) {
      s.refuse("key",
               fmt::format("has {} characters; give at least {}, for example from openssl rand -hex 32",
                           key.size(), shortest_key));
    }
    out.digest = digest_of(key);
  } else if (s.has("key_sha256")) {
    const auto digest = parse_digest(s.text("key_sha256"));
    hide(s, "key_sha256");
    if (!digest) s.refuse("key_sha256", "must be 64 hex digits, as sha256sum prints them");
    out.digest = digest.value_or(key_digest{});
  } else {
    const auto file = s.text("key_file", {}, "the path of a file that holds the key, relative to this file");
    s.recorded("key_file").meaning = "(a file)";
    if (file.empty()) return out;
    out.file = absolute_path(directory / file);
    const auto read = read_key_file(out.file);
    if (!read.error.empty()) s.refuse("key_file", read.error);
    out.digest = read.digest;
  }
  return out;
}

tenant_spec read_tenant(section& s, const std::filesystem::path& directory) {
  constexpr double max_rps = 1e6, day_ms = 86'400'000;
  tenant_spec t;
  t.name = s.name("name");
  t.key = read_key(s, directory);
  t.rate_rps = s.number("rate_rps", "requests a second", 0, max_rps, 0);  // 0: any
  if (t.rate_rps > 0) {
    t.burst = s.number("burst", "requests", 1, max_rps, std::max(1.0, t.rate_rps));
  } else {
    s.unused("burst", "needs rate_rps; give both or neither");
  }
  t.concurrency = static_cast<uint32_t>(s.integer("concurrency", 0, 1 << 24, 0));  // 0: any
  t.models = s.texts("models");
  t.targets.priority = static_cast<int32_t>(s.integer("priority", -1'000'000, 1'000'000, 0));
  t.targets.ttft = s.milliseconds("ttft_ms", 0, day_ms, 0);  // 0: none
  t.targets.tpot = s.milliseconds("tpot_ms", 0, day_ms, 0);
  return t;
}

}  // namespace

key_reading read_key_file(const std::string& path) {
  const auto text = read_text_file(path, pipes::refused);
  if (!text.error.empty()) return {{}, fmt::format("{} {}", path, text.error)};
  std::string_view key = text.content;
  while (!key.empty() && std::string_view(" \t\r\n").find(key.back()) != std::string_view::npos)
    key.remove_suffix(1);
  if (key.size() < shortest_key)
    return {{},
            fmt::format("{} holds a key of {} characters; give at least {}, for example from openssl rand "
                        "-hex 32",
                        path, key.size(), shortest_key)};
  return {digest_of(key), {}};
}

security_spec read_security(section& root, const std::filesystem::path& directory) {
  security_spec out;
  auto& s = root.table_or_empty("security");
  const auto folder = s.text("certificates", "");
  if (!folder.empty()) out.certificates = absolute_path(directory / folder);
  out.insecure = s.flag("insecure", false);
  if (auto* admin = root.table("admin")) out.admin = read_key(*admin, directory);
  return out;
}

std::vector<tenant_spec> read_tenants(section& root, const std::filesystem::path& directory,
                                      const security_spec& security) {
  std::vector<tenant_spec> out;
  for (auto* s : root.tables("tenant")) {
    auto t = read_tenant(*s, directory);
    for (const auto& other : out) {
      if (!t.name.empty() && t.name == other.name)
        s->refuse("name", fmt::format("tenant '{}' is already defined; choose another name", t.name));
      if (t.key.digest != key_digest{} && same_key(t.key.digest, other.key.digest))
        s->refuse(fmt::format("has the same key as tenant '{}'; give each its own", other.name));
    }
    if (security.admin && t.key.digest != key_digest{} && same_key(t.key.digest, security.admin->digest))
      s->refuse("has the same key as [admin]; give each its own");
    out.push_back(std::move(t));
  }
  return out;
}

void check_listening(const std::vector<section*>& sections, const std::vector<node_spec>& nodes,
                     const cluster_spec& cluster) {
  const auto& security = cluster.security;
  if (security.insecure) return;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto& n = nodes[i];
    auto& s = *sections[i];
    const auto* address = s.has("listen") ? "listen" : "host";
    if (security.certificates.empty() && !is_loopback(n.listen))
      s.refuse(address,
               fmt::format("node '{}' would accept commands from every host that can reach {}:{}; make "
                           "certificates (troupe certs) and give their folder in [security] certificates, "
                           "listen on 127.0.0.1, or set [security] insecure = true on a trusted network",
                           n.name, n.listen, n.control_port));
    if (n.has(node_role::gateway) && !security.admin && cluster.tenants.empty() &&
        !is_loopback(n.http_listen))
      s.refuse(s.has("http_listen") ? "http_listen" : address,
               fmt::format("every host that can reach http://{} could load models and read metrics at node "
                           "'{}'; give keys in [admin] and [[tenant]], set http_listen = \"127.0.0.1\", or "
                           "set [security] insecure = true on a trusted network",
                           host_port(n.http_listen, n.http_port), n.name));
  }
}

std::vector<std::string> refresh_keys(cluster_spec& cluster) {
  std::vector<std::string> wrong;
  auto admin = cluster.security.admin;
  auto tenants = cluster.tenants;
  const auto refresh = [&](api_key_spec& key) {
    if (key.file.empty()) return;
    auto read = read_key_file(key.file);
    if (!read.error.empty()) wrong.push_back(std::move(read.error));
    key.digest = read.digest;
  };
  if (admin) refresh(*admin);
  for (auto& t : tenants) refresh(t.key);
  if (!wrong.empty()) return wrong;
  cluster.security.admin = admin;
  cluster.tenants = std::move(tenants);
  return wrong;
}

namespace {

/// Warns of key files that every user of this host can read.
void warn_of_open_keys(const cluster_spec& cluster, std::vector<std::string>& out) {
  const auto check = [&](const api_key_spec& key) {
    std::error_code unreadable;
    const auto found = std::filesystem::status(key.file, unreadable);
    if (exists(found) &&
        (found.permissions() & std::filesystem::perms::others_read) != std::filesystem::perms::none)
      out.push_back(fmt::format("{}: every user of this host can read this key; chmod o-r it", key.file));
  };
  if (cluster.security.admin) check(*cluster.security.admin);
  for (const auto& t : cluster.tenants) check(t.key);
}

std::string exposed_data_lane(const cluster_spec& cluster, const node_spec& n) {
  const auto devices = n.data_interface.empty() ? std::string("every network device")
                                                : fmt::format("the network device {}", n.data_interface);
  const auto* certain = cluster.security.certificates.empty()
                            ? "make certificates (troupe certs) and give their folder in [security] "
                              "certificates"
                            : "remove [data_lane] transport = \"ucx\"";
  return fmt::format(
      "node '{}': the data lane is not encrypted and listens on {}, and whoever reaches it can write to the "
      "memory of the process; {}, or use it only where nothing but the cluster's hosts reaches that "
      "device{}",
      n.name, devices, certain, n.data_interface.empty() ? ", named in data_interface" : "");
}

}  // namespace

std::vector<std::string> security_warnings(const cluster_spec& cluster, std::optional<node_id> only) {
  std::vector<std::string> out;
  if (!only || cluster.nodes[only->value].has(node_role::gateway)) warn_of_open_keys(cluster, out);
  const bool exposed = transport_of(cluster) == data_transport::ucx && !on_one_host(cluster.nodes);
  for (uint32_t i = 0; i < cluster.nodes.size(); ++i) {
    if (only && only->value != i) continue;
    const auto& n = cluster.nodes[i];
    if (cluster.security.certificates.empty() && !is_loopback(n.listen))
      out.push_back(
          fmt::format("node '{}': every host that can reach {}:{} can send it commands, as [security] "
                      "insecure = true allows",
                      n.name, n.listen, n.control_port));
    if (exposed && !is_loopback(n.host)) out.push_back(exposed_data_lane(cluster, n));
    if (n.has(node_role::gateway) && cluster.tenants.empty() && !is_loopback(n.http_listen))
      out.push_back(
          fmt::format("node '{}': every host that can reach http://{} can use its models; give each user a "
                      "key in [[tenant]]",
                      n.name, host_port(n.http_listen, n.http_port)));
  }
  return out;
}

}  // namespace troupe
