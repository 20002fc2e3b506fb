#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "config/sections.hpp"

namespace troupe {

void refuse_missing_cuda([[maybe_unused]] section& s, [[maybe_unused]] std::string_view key,
                         [[maybe_unused]] device_kind kind) {
#ifndef TROUPE_CUDA
  if (kind == device_kind::cuda)
    s.refuse(key,
             "this build has no CUDA; configure it with -DTROUPE_CUDA=ON, or use \"cpu\" or \"emulated\"");
#endif
}

namespace {

constexpr std::array<std::string_view, 4> role_names{"gateway", "scheduler", "worker", "standby"};
constexpr std::array<std::string_view, 3> kind_names{"cpu", "emulated", "cuda"};
constexpr int64_t max_gpu_index = 4095;

/// Nothing if its kind is unknown: then its other keys and its demands on models are unknown, too.
/// `next_gpu`: default GPU, the one after those of the node's previous devices.
std::optional<device_spec> read_device(section& s, uint32_t& next_gpu) {
  const auto kind = s.choice("kind", kind_names);
  if (!kind) {
    for (const auto* key : {"count", "memory_gb", "jitter", "threads", "gpu", "exact"}) s.unused(key);
    return {};
  }
  device_spec d;
  d.kind = static_cast<device_kind>(*kind);
  d.count = static_cast<uint32_t>(s.integer("count", 1, 4096, 1));
  // 0: as much as the device has
  d.memory_bytes = static_cast<uint64_t>(s.number("memory_gb", "GiB", 0, 65536, 0) * (1 << 30));
  if (d.kind == device_kind::emulated) {
    d.jitter = s.number("jitter", "a fraction", 0, 1, 0);
  } else {
    s.unused("jitter", "only an emulated device has jitter; remove it");
  }
  if (d.kind == device_kind::cpu) {
    d.threads = static_cast<uint32_t>(s.integer("threads", 1, 1024, 1));
  } else {
    s.unused("threads", "only a cpu device has threads; remove it");
  }
  if (d.kind == device_kind::cuda) {
    refuse_missing_cuda(s, "kind", d.kind);
    d.gpu = static_cast<uint32_t>(s.integer("gpu", 0, max_gpu_index, next_gpu));
    next_gpu = d.gpu + d.count;
    d.exact = s.flag("exact", false);
  } else {
    s.unused("gpu", "only a cuda device has a GPU; remove it");
    s.unused("exact", "only a cuda device rounds to TF32; remove it");
  }
  return d;
}

/// A port, 0 for any, or the text "FIRST-LAST".
port_range read_ports(section& s, std::string_view key) {
  const auto text = s.peek(key);
  if (text.empty()) {
    const auto port = static_cast<uint16_t>(s.integer(key, 0, 65535, 0));
    return {port, port};
  }
  s.text(key);
  port_range ports;
  const auto* const end = text.data() + text.size();
  const auto [dash, error] = std::from_chars(text.data(), end, ports.first);
  if (error == std::errc{} && dash != end && *dash == '-') {
    const auto [rest, wrong] = std::from_chars(dash + 1, end, ports.last);
    if (wrong == std::errc{} && rest == end && 0 < ports.first && ports.first <= ports.last) return ports;
  }
  s.refuse(key,
           fmt::format("must be a port or a range of ports such as \"7710-7719\", not {}", in_quotes(text)));
  return {};
}

/// Both keys have an effect on weights that move only, so they are recorded only if they are given.
void read_engine_room(section& s, node_spec& n) {
  const bool worker = n.has(node_role::worker);
  constexpr double mib = 1 << 20;
  if (worker && s.has("max_engines"))
    n.max_engines = static_cast<uint32_t>(s.integer("max_engines", 0, 1 << 20));
  else
    s.unused("max_engines", n.roles.empty() ? "" : "only a worker loads engines; remove the key");
  if (worker && s.has("parameter_mb"))
    n.parameter_bytes = static_cast<uint64_t>(s.number("parameter_mb", "MiB", 0, 1e8) * mib);
  else
    s.unused("parameter_mb", n.roles.empty() ? "" : "only a worker keeps weights; remove the key");
}

node_spec read_node(section& s, const std::vector<domain_spec>& domains) {
  node_spec n;
  n.name = s.name("name");
  n.host = s.text("host", "127.0.0.1", "a host name or an address");
  n.listen = s.text("listen", n.host, "an address of that host, \"0.0.0.0\" for all");
  n.control_port = static_cast<uint16_t>(s.integer("control_port", 1, 65535));
  for (const auto r : s.choices("roles", role_names, true)) n.roles.push_back(static_cast<node_role>(r));
  if (n.has(node_role::gateway)) {
    n.http_port = static_cast<uint16_t>(s.integer("http_port", 1, 65535));
    n.http_listen = s.text("http_listen", n.listen, "an address of that host, \"0.0.0.0\" for all");
  } else {
    s.unused("http_listen", n.roles.empty() ? "" : "only a gateway listens for HTTP; remove the key");
    s.unused("http_port", n.roles.empty()
                              ? ""
                              : "only a gateway listens for HTTP; add the role \"gateway\" or remove "
                                "the port");
  }
  if (n.has(node_role::worker))
    n.domain = read_domain_of(s, domains);
  else
    s.unused("domain", n.roles.empty() ? "" : "only a worker belongs to a domain; remove the key");
  read_engine_room(s, n);
  n.data_ports = read_ports(s, "data_port");
  n.data_interface = s.text("data_interface", "");
  const auto devices = s.tables("device");
  uint32_t next_gpu = 0;
  for (auto* device : devices) {
    if (const auto d = read_device(*device, next_gpu)) n.devices.push_back(*d);
  }

  if (!n.roles.empty() && !n.has(node_role::worker) && !devices.empty()) {
    s.refuse("roles", "only a worker uses devices; add the role \"worker\" or remove its [[node.device]]");
  }
  return n;
}

/// Names are unique, and so are the ports of a host. Nodes may share a range of ports.
class collisions {
 public:
  void add(section& s, const node_spec& n) {
    if (!n.name.empty()) {
      const auto [first, fresh] = names_.emplace(n.name, s.at("name").line);
      if (!fresh) {
        s.refuse("name", fmt::format("node '{}' is already defined in line {}; choose another name", n.name,
                                     first->second));
      }
    }
    add_port(s, n, "control_port", n.control_port);
    add_port(s, n, "http_port", n.http_port);
    if (n.data_ports.first == n.data_ports.last)
      add_port(s, n, "data_port", n.data_ports.first);
    else
      ranges_.emplace_back(&s, &n);
  }
  /// Call it once all nodes were added, while the references to them are valid.
  void check_ranges() {
    for (const auto& [s, n] : ranges_) {
      const auto it = ports_.lower_bound({host_of(*n), n->data_ports.first});
      if (it == ports_.end() || it->first.first != host_of(*n) || it->first.second > n->data_ports.last)
        continue;
      s->refuse("data_port", fmt::format("{} is the {} on {}; choose another range", it->first.second,
                                         it->second, it->first.first));
    }
  }

 private:
  static std::string host_of(const node_spec& n) { return n.host == "localhost" ? "127.0.0.1" : n.host; }

  void add_port(section& s, const node_spec& n, std::string_view key, uint16_t port) {
    if (!s.has(key) || port == 0) return;
    const auto host = host_of(n);
    const auto [first, fresh] =
        ports_.emplace(std::pair{host, port}, fmt::format("{} of node '{}'", key, n.name));
    if (!fresh) {
      s.refuse(key,
               fmt::format("{} is already the {} on {}; choose another port", port, first->second, host));
    }
  }

  std::map<std::string, uint32_t> names_;
  std::map<std::pair<std::string, uint16_t>, std::string> ports_;
  std::vector<std::pair<section*, const node_spec*>> ranges_;
};

void refuse_standbys_of_domains(const std::vector<section*>& sections, const std::vector<node_spec>& nodes,
                                const std::vector<domain_spec>& domains) {
  if (domains.empty()) return;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].has(node_role::standby)) continue;
    sections[i]->refuse("roles",
                        "a cluster with a [[domain]] cannot have a standby; remove the role \"standby\", or "
                        "every [[domain]] and the keys that name one");
    return;
  }
}

void require_roles(section& root, const std::vector<section*>& sections,
                   const std::vector<node_spec>& nodes) {
  const auto count = [&](node_role r) {
    return std::count_if(nodes.begin(), nodes.end(), [&](const node_spec& n) { return n.has(r); });
  };
  if (nodes.empty()) {
    if (!root.has("node")) {
      root.refuse("node", "is missing; describe each process of the cluster in a [[node]] section");
    }
    return;
  }
  for (const auto& n : nodes) {
    if (n.roles.empty()) return;  // already a problem, and it may be the missing node
  }
  if (count(node_role::gateway) == 0) {
    root.refuse("node", "no node is a gateway; add \"gateway\" to the roles of one");
  }
  if (count(node_role::worker) == 0) {
    root.refuse("node",
                "no node is a worker; add \"worker\" to the roles of one, and a [[node.device]] or an "
                "[[llm]]");
  }
  if (count(node_role::scheduler) == 0) {
    root.refuse("node", "no node is the scheduler; add \"scheduler\" to the roles of one");
  }
  const node_spec* scheduler = nullptr;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].has(node_role::scheduler)) continue;
    if (nodes[i].has(node_role::standby))
      sections[i]->refuse("roles",
                          "the scheduler cannot be its own standby; give the role \"standby\" to another "
                          "node, preferably on another host");
    if (scheduler) {
      sections[i]->refuse("roles", fmt::format("node '{}' is the scheduler already; remove the role "
                                               "\"scheduler\" here, or replace it with \"standby\"",
                                               scheduler->name));
    } else {
      scheduler = &nodes[i];
    }
  }
}

}  // namespace

node_reading read_nodes(section& root, const cluster_spec& cluster) {
  node_reading out{{}, root.tables("node")};
  collisions taken;
  for (auto* s : out.sections) out.nodes.push_back(read_node(*s, cluster.domains));
  for (size_t i = 0; i < out.nodes.size(); ++i) taken.add(*out.sections[i], out.nodes[i]);
  taken.check_ranges();
  require_roles(root, out.sections, out.nodes);
  refuse_standbys_of_domains(out.sections, out.nodes, cluster.domains);
  check_listening(out.sections, out.nodes, cluster);
  return out;
}

void check_workers(section& root, const node_reading& read, const llm_reading& llms,
                   const cluster_spec& cluster) {
  std::vector<bool> runs_models(domain_count(cluster));
  for (uint32_t i = 0; i < read.nodes.size(); ++i) {
    const auto& n = read.nodes[i];
    if (n.roles.empty()) return;  // already a problem, and it may be the missing worker
    if (!n.has(node_role::worker)) continue;
    const bool unclear = read.sections[i]->has("device") && root.owner().problem_count() > 0;
    if (!n.devices.empty() || unclear) {
      runs_models[n.domain] = true;
      continue;
    }
    const bool serves =
        std::ranges::any_of(llms.engines, [&](const engine_spec& e) { return e.node == node_id{i}; });
    if (!serves && llms.placed)
      read.sections[i]->refuse("roles",
                               "a worker needs a device or a language model; add a [[node.device]] to it, "
                               "or an [[llm]] that names it");
  }
  if (root.owner().problem_count() > 0) return;  // a device may be hidden by another problem
  for (const auto& m : cluster.models) {
    if (runs_models[m.domain]) continue;
    const auto domain = domain_name(cluster, m.domain);
    root.refuse("model", fmt::format("no worker{} has a device for model '{}'; add a [[node.device]] to one",
                                     domain.empty() ? "" : fmt::format(" of domain '{}'", domain), m.name));
    return;
  }
}

}  // namespace troupe
