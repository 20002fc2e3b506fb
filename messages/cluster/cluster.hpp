// The cluster that a file describes, after validation and with every default filled in (config/ makes it).
// The same on every node: `hash` says so. Positions in these vectors are the ids of nodes, models and slots.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/plugin.hpp"
#include "messages/common/time.hpp"
#include "messages/deployment/model_spec.hpp"
#include "messages/llm/generation_targets.hpp"
#include "messages/llm/step_latency.hpp"
#include "messages/tensor/latency.hpp"
#include "messages/tensor/tensor.hpp"

namespace troupe {

/// A standby is a spare scheduler: it becomes the leader when that one dies.
enum class node_role : uint16_t { gateway, scheduler, worker, standby };

enum class device_kind : uint16_t { cpu, emulated, cuda };

/// `count` devices of one kind; each is one execution slot.
struct device_spec {
  device_kind kind = device_kind::cpu;
  uint32_t count = 1;
  uint64_t memory_bytes = 0;
  double jitter = 0;     ///< emulated: a batch takes up to this fraction longer, seeded
  uint32_t threads = 1;  ///< cpu: threads a batch
  uint32_t gpu = 0;      ///< cuda: which one of those that the process sees; of several, the first one's
  bool exact = false;    ///< cuda: products of f32 numbers as such; false: of operands rounded to TF32
};

/// A sub-cluster with an arbiter of its own: its devices have all of its models, and no others.
struct domain_spec {
  std::string name;
  double max_rate_rps = 0;  ///< that its models may be asked together, for the placer; 0: any
};

struct node_spec {
  std::string name;
  std::string host = "127.0.0.1";  ///< as others reach it
  std::string listen;              ///< the address that its control lane listens on
  std::string http_listen;         ///< likewise for HTTP; gateways only
  uint16_t control_port = 0;
  uint16_t http_port = 0;      ///< gateways only
  uint16_t data_port = 0;      ///< 0: the transport chooses
  std::string data_interface;  ///< network device for the data lane; empty: loopback or UCX's choice
  std::vector<node_role> roles;
  uint32_t domain = 0;  ///< of its devices; workers only
  std::vector<device_spec> devices;
  bool has(node_role r) const {
    for (auto x : roles)
      if (x == r) return true;
    return false;
  }
  /// It may become the leader.
  bool schedules() const { return has(node_role::scheduler) || has(node_role::standby); }
};

/// Full duplex.
struct link_spec {
  std::vector<std::string> nodes;
  double gbit_per_s = 0;
};

struct policy_spec {
  std::string batching = "deferred";  ///< these three: names of policies or of a plug-in's
  std::string shedding = "window";
  std::string matchmaking = "lowest_id";
  plugin_settings batching_settings;     ///< of the plug-in that the policy is from
  plugin_settings matchmaking_settings;  ///< likewise
  network_delay network{};
  duration response{};           ///< kept free between the end of a batch and the deadline
  duration margin{};             ///< for timer jitter
  uint32_t decision_log = 4096;  ///< requests of a model whose decisions are remembered; 0: none
};

/// Advice on how many GPUs the load needs, and what is done with it.
enum class autoscale_mode : uint16_t {
  off,
  advise,  ///< in status and metrics
  apply    ///< also by taking emulated devices out of service and putting them back
};

struct autoscale_spec {
  autoscale_mode mode = autoscale_mode::advise;
  duration window = 10s;   ///< GPUs are given up for the largest load of it
  double bad_rate = 0.01;  ///< of requests; above it GPUs are asked for
  double reserve = 0.1;    ///< kept beyond the busy ones, of these
  uint32_t min_gpus = 1;
  uint32_t max_gpus = 0;  ///< 0: any
};

struct limit_spec {
  uint32_t models = 1024;               ///< that the log of deployments may hold
  uint32_t queue_rows = 8192;           ///< a model; beyond: 429
  uint32_t requests_in_flight = 65536;  ///< a gateway; beyond: 429
  uint64_t pool_bytes = 256 << 20;      ///< registered memory a process
  uint64_t body_bytes = 64 << 20;       ///< an HTTP body
  uint64_t bodies_bytes = 256 << 20;    ///< all HTTP bodies being read
  uint32_t header_bytes = 32 << 10;     ///< an HTTP header
  uint32_t http_connections = 16384;
  duration http_idle_timeout{};    ///< of a connection between two requests
  duration http_header_timeout{};  ///< from the first byte of a request to the end of its header
  duration http_body_timeout{};    ///< from there to the end of its body
  duration request_timeout{};      ///< after the deadline, before the gateway gives up
  duration heartbeat{};
  duration node_timeout{};  ///< silence after which a node is dead
  duration takeover{};      ///< silence of the scheduler after which a standby takes over, at the least
  duration drain_timeout{};
  uint32_t http_threads = 1;
  uint32_t scheduler_threads = 1;
};

/// SHA-256 of an API key. The key itself is kept nowhere.
using key_digest = std::array<uint8_t, 32>;

struct api_key_spec {
  key_digest digest{};
  std::string file;  ///< absolute, read again on SIGHUP; empty: the key was written in the cluster file
};

/// Who may ask for what, and how much.
struct tenant_spec {
  std::string name;
  api_key_spec key;
  double rate_rps = 0;              ///< requests a second at each gateway; 0: any
  double burst = 0;                 ///< so many at once after a pause
  uint32_t concurrency = 0;         ///< in flight at each gateway; 0: any
  std::vector<std::string> models;  ///< empty: all
  generation_targets targets = {};  ///< of its generation requests that say nothing else
};

struct security_spec {
  std::string certificates;  ///< folder, absolute: ca.pem, NODE.pem, NODE.key; empty: no TLS between nodes
  bool insecure = false;     ///< listening beyond this host without certificates is meant
  std::optional<api_key_spec> admin;
};

/// What moves models between scheduling domains.
struct placer_spec {
  duration epoch{};            ///< zero: nothing does
  uint32_t max_moves = 8;      ///< an epoch
  double min_gain = 0.05;      ///< of the objective, for any move at all
  double memory_weight = 1;    ///< of imbalance in memory against imbalance in rate
  uint64_t steps = 2'000'000;  ///< of the search
};

/// What a language model's numbers are kept as on a device.
enum class llm_type : uint16_t { f32, bf16, f16 };

/// A language model with its adapters, and how its engines serve it.
struct llm_spec {
  std::string name;
  std::string path;                       ///< absolute: the folder of a checkpoint
  device_kind device = device_kind::cpu;  ///< emulated: of the checkpoint, words and configuration count
  llm::llm_profile profile = {};          ///< of an emulated one
  double jitter = 0;                      ///< of an emulated one: steps take up to this fraction longer
  uint32_t max_positions = 0;             ///< of an emulated one's sequences; 0: the checkpoint's
  uint32_t emulated_adapters = 0;         ///< of an emulated one, beside those of a directory
  llm_type type = llm_type::f32;
  uint32_t threads = 1;
  uint32_t tensor_parallel = 1;   ///< GPUs that an engine shares the model out over
  bool graphs = true;             ///< on GPUs: decode steps are CUDA graphs
  uint64_t kv_bytes = 256 << 20;  ///< of the KV cache
  uint32_t block_tokens = 16;     ///< positions of a KV block
  uint32_t max_sequences = 32;    ///< sequences that run at once
  uint32_t max_waiting = 1024;    ///< that wait; beyond: 429
  uint32_t prefill_chunk = 512;   ///< tokens of prompts in one step
  std::string prefill = "eager";  ///< when prompts are prefilled (policies/llm/prefill_timing.hpp)
  bool mix_adapters = true;       ///< in one step; false: sequences of one adapter at a time
  uint32_t max_choices = 16;      ///< `n` of a request
  duration timeout = 600s;        ///< of a request, from its arrival
  std::string adapter_directory;  ///< absolute; each folder in it that holds an adapter is one; empty: none
  uint32_t adapter_slots = 8;     ///< adapters on the device at once
  uint64_t adapter_bytes = 1u << 30;  ///< of adapters kept in host memory
  bool adapter_api = false;           ///< clients may load and unload adapters
  std::string routing = "punica";     ///< which engine gets a request (policies/llm/routing_policy.hpp)
  duration consolidate_every{};       ///< zero: engines are not emptied in favour of others
};

/// One of the engines of a language model.
struct engine_spec {
  llm_id model;
  node_id node;  ///< a worker
};

struct slot_spec {
  node_id node;
  device_kind kind = device_kind::cpu;
  uint64_t memory_bytes = 0;
  double jitter = 0;
  uint32_t threads = 1;
  uint32_t gpu = 0;
  bool exact = false;
};

struct cluster_spec {
  std::string name;
  std::string hash;             ///< 16 hex digits over the meaning of the file, not its spelling
  std::string directory;        ///< of the file: what its relative paths are relative to
  std::string model_directory;  ///< absolute; models that clients load are below it; empty: none may be
  std::vector<plugin_spec> plugins;
  std::vector<domain_spec> domains;  ///< none: one for all
  std::vector<node_spec> nodes;
  std::vector<actor_spec> actors;  ///< of plug-ins
  std::vector<link_spec> links;
  std::vector<model_spec> models;
  std::vector<llm_spec> llms;
  std::vector<engine_spec> engines;  ///< by model, in the order in which it names their nodes
  policy_spec policy;
  placer_spec placer;
  autoscale_spec autoscale;
  limit_spec limits;
  security_spec security;
  std::vector<tenant_spec> tenants;  ///< none: whoever reaches a gateway may use it
  std::vector<slot_spec> slots;      ///< one a device unless a placement says otherwise
};

/// Nobody outside of this host can reach what listens there.
inline bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

inline uint32_t domain_count(const cluster_spec& cluster) {
  return cluster.domains.empty() ? 1 : static_cast<uint32_t>(cluster.domains.size());
}
/// Empty where there is one for all.
inline std::string domain_name(const cluster_spec& cluster, uint32_t domain) {
  return domain < cluster.domains.size() ? cluster.domains[domain].name : std::string{};
}
/// By slot.
inline std::vector<uint32_t> slot_domains(const cluster_spec& cluster) {
  std::vector<uint32_t> out;
  for (const auto& s : cluster.slots) out.push_back(cluster.nodes[s.node.value].domain);
  return out;
}

/// The node with the role. Where standbys are, another may be the leader (`leadership`).
inline node_id scheduler_of(const cluster_spec& cluster) {
  for (uint32_t i = 0; i < cluster.nodes.size(); ++i)
    if (cluster.nodes[i].has(node_role::scheduler)) return node_id{i};
  return {};
}

/// Who may become the leader, in this order: the scheduler, then the
/// standbys in the order of the file.
inline std::vector<node_id> leader_candidates(const cluster_spec& cluster) {
  std::vector<node_id> out;
  for (const auto r : {node_role::scheduler, node_role::standby})
    for (uint32_t i = 0; i < cluster.nodes.size(); ++i)
      if (cluster.nodes[i].has(r)) out.push_back(node_id{i});
  return out;
}

inline std::vector<engine_id> engines_of(const cluster_spec& cluster, llm_id model) {
  std::vector<engine_id> out;
  for (uint32_t i = 0; i < cluster.engines.size(); ++i)
    if (cluster.engines[i].model == model) out.push_back(engine_id{i});
  return out;
}

inline bool has_standby(const cluster_spec& cluster) { return leader_candidates(cluster).size() > 1; }

}  // namespace troupe
