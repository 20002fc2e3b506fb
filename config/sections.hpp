// Sections of a cluster file, one function each: keys, units, ranges, defaults and consistency checks. They
// report problems to the reader of their section. Only for readers of files.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/reader.hpp"
#include "messages/cluster/cluster.hpp"

namespace troupe {

/// Loads the libraries of [plugins], relative to `directory`. Call it before sections that may name their
/// policies or actors.
struct plugin_reading {
  std::vector<plugin_spec> plugins;
  bool complete = true;  ///< false: a library failed to load; its names are unknown
};
plugin_reading read_plugins(section& root, const std::filesystem::path& directory);

/// [[actor]]. Needs the cluster's nodes and plug-ins.
std::vector<actor_spec> read_actors(section& root, const cluster_spec& cluster, bool complete);

policy_spec read_policy(section& root, const plugin_reading& plugins);
limit_spec read_limits(section& root);
restart_spec read_restart(section& root);

/// `[security]` and `[admin]`. Paths are relative to `directory`.
security_spec read_security(section& root, const std::filesystem::path& directory);
/// [data_lane]. Refuses TLS without certificates.
data_lane_spec read_data_lane(section& root, const security_spec& security);
std::vector<tenant_spec> read_tenants(section& root, const std::filesystem::path& directory,
                                      const security_spec& security);
/// Unless the file allows it explicitly, refuses nodes that listen beyond this host without certificates, and
/// gateways that can be administered without a key. `cluster`: its security and tenants.
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
/// `domain` of a worker or a model: required if the cluster has domains, a problem if it has none.
uint32_t read_domain_of(section& s, const std::vector<domain_spec>& domains);

/// Refuses "cuda" under this key in builds without CUDA.
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

/// [[link]].
std::vector<link_spec> read_links(section& root, const std::vector<node_spec>& nodes);
/// `pace` of [links]. Refuses it without a [[link]].
bool read_link_pacing(section& root, const std::vector<link_spec>& links);

/// One [[model]], also of other files. Paths are relative to `directory`.
model_spec read_model(section& s, const cluster_spec& cluster, const std::filesystem::path& directory);

/// `preprocess` of a model. Refuses it for models without a file, and if a node, `emulated_on`, has an
/// emulated device. Needs the model's path and batching.
void read_preprocess(section& s, model_spec& m, std::string_view emulated_on);

std::string absolute_path(const std::filesystem::path& p);

/// Names in use. Models, encoders and language models share one namespace, that of URLs and tenants.
class defined_names {
 public:
  /// Refuses `name`, which section `s` gives to a `kind`, if it is taken; an empty one has been refused
  /// before.
  void add(section& s, const char* kind, const std::string& name);

 private:
  std::map<std::string, std::string> taken_;  // kind and position
};

/// [[model]]. Paths are relative to `directory`. Needs the cluster's nodes and policy.
struct model_list {
  std::vector<model_spec> models;         ///< those of a model with several shapes among them
  std::vector<shaped_model_spec> shaped;  ///< such models
  std::vector<file_position> places;      ///< of their `source`
};
model_list read_models(section& root, const cluster_spec& cluster, const std::filesystem::path& directory,
                       defined_names& names);

/// [[encoder]]. Each of its lengths is a model, behind those of the cluster. Paths are relative to
/// `directory`. Needs the cluster's nodes, domains and models.
struct encoder_reading {
  std::vector<encoder_spec> encoders;
  std::vector<model_spec> models;
  std::vector<file_position> places;  ///< of each model's encoder's `model`
};
encoder_reading read_encoders(section& root, const cluster_spec& cluster,
                              const std::filesystem::path& directory, defined_names& names);

/// [[llm]]. Paths are relative to `directory`. Needs the cluster's nodes.
struct llm_reading {
  std::vector<llm_spec> llms;
  std::vector<engine_spec> engines;
  std::vector<file_position> places;  ///< of the `model` of each
  bool placed = true;                 ///< false: the node of some engine is unknown
};
llm_reading read_llms(section& root, const cluster_spec& cluster, const std::filesystem::path& directory,
                      defined_names& names);

/// The numbers of instances of an [[llm]], which scales if one of these keys is given. Without `places` their
/// number is unknown.
void read_instances(section& s, llm_spec& m, std::optional<uint32_t> places);
/// `disaggregated` of an [[llm]]: the phases of its engines. `counted`: their number is known.
void read_phases(section& s, llm_spec& m, std::span<engine_spec> engines, bool counted);
/// [scaling]. Refuses it if no language model scales.
/// `keeps_files`: a worker keeps files of tensor models in memory.
scaling_spec read_scaling(section& root, llm_reading& llms, bool keeps_files);

/// Refuses workers without devices and engines, and models without a suitable device. `cluster`: its domains
/// and models.
void check_workers(section& root, const node_reading& read, const llm_reading& llms,
                   const cluster_spec& cluster);

}  // namespace troupe
