// The sections of a cluster file, one function each: keys, units, ranges, defaults and what must fit
// together. They report to the reader of the section that they are given. For readers of files only.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/reader.hpp"
#include "messages/cluster/cluster.hpp"

namespace troupe {

/// Loads the libraries of [plugins], relative to `directory`. Before everything that may name what they
/// bring.
struct plugin_reading {
  std::vector<plugin_spec> plugins;
  bool complete =
      true;  ///< false: a library could not be loaded, and nobody knows which names it would bring
};
plugin_reading read_plugins(section& root, const std::filesystem::path& directory);

/// [[actor]]. Needs the cluster's nodes and plug-ins.
std::vector<actor_spec> read_actors(section& root, const cluster_spec& cluster, bool complete);

policy_spec read_policy(section& root, const plugin_reading& plugins);
limit_spec read_limits(section& root);

/// `[security]` and `[admin]`. Paths are relative to `directory`.
security_spec read_security(section& root, const std::filesystem::path& directory);
std::vector<tenant_spec> read_tenants(section& root, const std::filesystem::path& directory,
                                      const security_spec& security);
/// Refuses nodes that take orders from beyond this host without certificates, and gateways that whoever
/// reaches them administers, unless that is meant. `cluster`: its security and tenants.
void check_listening(const std::vector<section*>& sections, const std::vector<node_spec>& nodes,
                     const cluster_spec& cluster);

/// [[domain]].
struct domain_reading {
  std::vector<domain_spec> domains;
  std::vector<section*> sections;  ///< of these
};
domain_reading read_domains(section& root);
/// [placer].
placer_spec read_placer(section& root, const std::vector<domain_spec>& domains);
/// Refuses domains without a worker.
void check_domains(const domain_reading& read, const std::vector<node_spec>& nodes);
/// `domain` of a worker or a model: required where there are domains, a problem where there are none.
uint32_t read_domain_of(section& s, const std::vector<domain_spec>& domains);

/// Refuses this key's "cuda", where the build has none.
void refuse_missing_cuda(section& s, std::string_view key, device_kind kind);

/// Also refuses a cluster without exactly one scheduler, a gateway and a worker. Needs the cluster's
/// security, tenants and domains.
struct node_reading {
  std::vector<node_spec> nodes;
  std::vector<section*> sections;  ///< of these
};
node_reading read_nodes(section& root, const cluster_spec& cluster);

/// Needs the cluster's nodes.
autoscale_spec read_autoscale(section& root, const std::vector<node_spec>& nodes);

std::vector<link_spec> read_links(section& root, const std::vector<node_spec>& nodes);

/// One [[model]], also of other files. Paths are relative to `directory`.
model_spec read_model(section& s, const cluster_spec& cluster, const std::filesystem::path& directory);

std::string absolute_path(const std::filesystem::path& p);

/// Who has a name already. Models and language models share one space of names, that of URLs and tenants.
class defined_names {
 public:
  /// Refuses `name`, which `s` gives to a `kind`, if it is taken; an empty one was refused before.
  void add(section& s, const char* kind, const std::string& name);

 private:
  std::map<std::string, std::string> taken_;  // what and where
};

/// Paths are relative to `directory`. Needs the cluster's nodes and policy.
std::vector<model_spec> read_models(section& root, const cluster_spec& cluster,
                                    const std::filesystem::path& directory, defined_names& names);

/// [[llm]]. Paths are relative to `directory`. Needs the cluster's nodes.
struct llm_reading {
  std::vector<llm_spec> llms;
  std::vector<engine_spec> engines;
  bool placed = true;  ///< false: nobody knows which node one of them is for
};
llm_reading read_llms(section& root, const cluster_spec& cluster, const std::filesystem::path& directory,
                      defined_names& names);

/// Refuses workers that have nothing to do, and models that no device can run. `cluster`: its domains and
/// models.
void check_workers(section& root, const node_reading& read, const llm_reading& llms,
                   const cluster_spec& cluster);

}  // namespace troupe
