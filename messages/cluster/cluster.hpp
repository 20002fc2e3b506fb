// Cluster specification: a cluster file after validation, with every default filled in (config/ makes it). It
// is the same on every node, which `hash` proves. Positions in its vectors are the ids of nodes, models and
// slots.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/cluster/scaling_policy.hpp"
#include "messages/common/ids.hpp"
#include "messages/common/plugin.hpp"
#include "messages/common/time.hpp"
#include "messages/deployment/model_spec.hpp"
#include "messages/llm/generation_targets.hpp"
#include "messages/llm/instance_phase.hpp"
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
  uint32_t gpu = 0;    ///< cuda: index among the GPUs that the process sees; with `count` > 1 the first one's
  bool exact = false;  ///< cuda: multiply f32 as f32; false: as TF32
};

/// Scheduling domain: a sub-cluster with an arbiter of its own. Its devices serve all of its models and no
/// others.
struct domain_spec {
  std::string name;
  double max_rate_rps = 0;  ///< total request rate of its models, for the placer; 0: unlimited
};

/// TCP ports first..last; both 0: any port.
struct port_range {
  uint16_t first = 0, last = 0;
  friend bool operator==(const port_range&, const port_range&) = default;
};

struct node_spec {
  std::string name;
  std::string host = "127.0.0.1";  ///< address under which other nodes reach it
  std::string listen;              ///< the address that its control lane listens on
  std::string http_listen;         ///< likewise for HTTP; gateways only
  uint16_t control_port = 0;
  uint16_t http_port = 0;      ///< gateways only
  port_range data_ports;       ///< the data lane listens on one of them
  std::string data_interface;  ///< network device for UCX; empty: loopback or UCX's choice
  std::vector<node_role> roles;
  uint32_t domain = 0;  ///< of its devices; workers only
  std::vector<device_spec> devices;
  uint32_t max_engines = 0;      ///< of scaling models, loaded on it at once; 0: any number; workers only
  uint64_t parameter_bytes = 0;  ///< memory for weights that peers pull; 0: room for every scaling model with
                                 ///< a place on it, and none for tensor models; workers only
  bool has(node_role r) const {
    for (auto x : roles)
      if (x == r) return true;
    return false;
  }
  /// It may become the leader.
  bool schedules() const { return has(node_role::scheduler) || has(node_role::standby); }
};

/// Networks, buses and disks of some nodes. All links are full duplex. A node is in one of them at most.
struct link_spec {
  std::vector<std::string> nodes;
  double gbit_per_s = 0;                 ///< of each node's interface
  std::string leaf = {};                 ///< switch that they are connected to; empty: none
  double uplink_gbit_per_s = 0;          ///< of the leaf to all others; 0: any
  std::string scale_up_domain = {};      ///< interconnect of their devices, such as NVLink; empty: none
  double scale_up_gbit_per_s = 0;        ///< of that interconnect, for each node
  double host_to_device_gbit_per_s = 0;  ///< of each node; 0: any
  double ssd_gbit_per_s = 0;             ///< of each node's disk; 0: any
};

struct policy_spec {
  std::string batching = "deferred";  ///< these three: names of policies, built in or of a plug-in
  std::string shedding = "window";
  std::string matchmaking = "lowest_id";
  plugin_settings batching_settings;     ///< parameters of the plug-in that provides the policy
  plugin_settings matchmaking_settings;  ///< likewise
  network_delay network{};
  duration response{};           ///< kept free between the end of a batch and the deadline
  duration margin{};             ///< for timer jitter
  uint32_t decision_log = 4096;  ///< requests per model in the decision log; 0: none
};

/// Use of the advice on how many GPUs, or instances of a language model, the load needs.
enum class autoscale_mode : uint16_t {
  off,
  advise,  ///< in status and metrics
  apply    ///< also carried out: for GPUs by taking emulated devices out of service and putting them back
};

struct autoscale_spec {
  autoscale_mode mode = autoscale_mode::advise;
  duration window = 10s;   ///< GPUs are given up only if its largest load allows it
  double bad_rate = 0.01;  ///< fraction of requests dropped or late; above it more GPUs are advised
  double reserve = 0.1;    ///< spare GPUs, as a fraction of the busy ones
  uint32_t min_gpus = 1;
  uint32_t max_gpus = 0;  ///< 0: any
};

/// How `troupe up` restarts a node that died.
struct restart_spec {
  duration max_delay{};        ///< the longest delay before a restart
  uint32_t give_up_after = 0;  ///< deaths in a row; 0: never
};

struct limit_spec {
  uint32_t models = 1024;               ///< deployed at once; undeployed ones whose definitions are kept
  uint32_t queue_rows = 8192;           ///< per model; beyond: 429
  uint32_t requests_in_flight = 65536;  ///< per gateway; beyond: 429
  uint64_t pool_bytes = 256 << 20;      ///< registered memory per process
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
  duration takeover{};      ///< minimum silence of the scheduler before a standby takes over
  duration drain_timeout{};

  /// Time after which all living peers of a new incarnation have joined it.
  duration join_timeout() const { return 3 * node_timeout; }

  uint32_t http_threads = 1;
  uint32_t tokenizer_threads = 2;  ///< for requests with long bodies
  uint32_t scheduler_threads = 1;
};

/// SHA-256 of an API key. The key itself is not stored.
using key_digest = std::array<uint8_t, 32>;

struct api_key_spec {
  key_digest digest{};
  std::string file;  ///< absolute, read again on SIGHUP; empty: the key was written in the cluster file
};

/// A tenant: its API key, its models and its limits.
struct tenant_spec {
  std::string name;
  api_key_spec key;
  double rate_rps = 0;              ///< requests a second at each gateway; 0: any
  double burst = 0;                 ///< bucket size of the rate limit, in requests
  uint32_t concurrency = 0;         ///< in flight at each gateway; 0: any
  std::vector<std::string> models;  ///< empty: all
  generation_targets targets = {};  ///< defaults for its generation requests
};

struct security_spec {
  std::string certificates;  ///< folder, absolute: ca.pem, NODE.pem, NODE.key; empty: no TLS between nodes
  bool insecure = false;     ///< allows listening beyond this host without certificates
  std::optional<api_key_spec> admin;
};

/// What carries the messages of the data lane.
enum class data_transport : uint16_t {
  automatic,  ///< TLS between hosts if there are certificates, else UCX
  ucx,        ///< shared memory, TCP, RDMA; neither encrypted nor authenticated
  tls
};

struct data_lane_spec {
  data_transport transport = data_transport::automatic;
};

/// Parameters of the placer, which moves models between scheduling domains.
struct placer_spec {
  duration epoch{};            ///< zero: no placer
  uint32_t max_moves = 8;      ///< per epoch
  double min_gain = 0.05;      ///< minimum gain of the objective for a move
  double memory_weight = 1;    ///< weight of memory imbalance relative to rate imbalance
  uint64_t steps = 2'000'000;  ///< of the search
};

/// Data type of a language model's numbers on a device.
enum class llm_type : uint16_t { f32, bf16, f16 };

/// How a language model gets the number of instances that its load needs (policies/scaling/scale_rule.hpp).
/// Bounds are fractions of what an instance can do.
struct scaling_loop_spec {
  autoscale_mode mode = autoscale_mode::off;
  double prefill_low = 0.5, prefill_high = 0.7;  ///< of the prefill rate
  double decode_low = 0.75, decode_high = 0.95;  ///< of KV cache and sequences
  duration window = 2s;                          ///< over which arrivals are measured
  duration backlog = 5s;                         ///< in which tokens that wait are to be prefilled
  duration scale_down = 2s;                      ///< below the lower bounds, for one instance fewer
};

/// A language model with its adapters, and how its engines serve it. Its places are its `engine_spec`s; an
/// instance is an engine that serves in one of them. A model that does not scale has one in each.
struct llm_spec {
  std::string name;
  std::string path;                       ///< absolute: the folder of a checkpoint
  device_kind device = device_kind::cpu;  ///< emulated: uses only the tokenizer and configuration
  llm::llm_profile profile = {};          ///< of an emulated one
  double jitter = 0;                      ///< of an emulated one: steps take up to this fraction longer
  uint32_t max_positions = 0;             ///< of an emulated one's sequences; 0: the checkpoint's
  uint32_t emulated_adapters = 0;         ///< of an emulated one, beside those of a directory
  llm_type type = llm_type::f32;
  uint32_t threads = 1;
  uint32_t tensor_parallel = 1;       ///< GPUs per engine
  bool graphs = true;                 ///< on GPUs: decode steps are CUDA graphs
  uint64_t kv_bytes = 256 << 20;      ///< of the KV cache
  uint32_t block_tokens = 16;         ///< positions of a KV block
  uint32_t max_sequences = 32;        ///< sequences that run at once
  uint32_t max_waiting = 1024;        ///< that wait; beyond: 429
  uint32_t prefill_chunk = 512;       ///< tokens of prompts in one step
  std::string prefill = "eager";      ///< prefill timing by name (policies/llm/prefill_timing.hpp)
  bool mix_adapters = true;           ///< in one step; false: sequences of one adapter at a time
  bool prefix_cache = true;           ///< sequences that begin alike share KV blocks
  uint32_t max_choices = 16;          ///< `n` of a request
  duration timeout = 600s;            ///< of a request, from its arrival
  std::string adapter_directory;      ///< absolute; its folders with an adapter are registered; empty: none
  uint32_t adapter_slots = 8;         ///< adapters on the device at once
  uint64_t adapter_bytes = 1u << 30;  ///< host memory for adapters
  bool adapter_api = false;           ///< clients may load and unload adapters
  std::string routing = "punica";     ///< routing policy by name (policies/llm/routing_policy.hpp)
  duration consolidate_every{};       ///< interval of consolidation; zero: none
  uint32_t prefill_instances = 0;     ///< at the start, so many instances prefill only
  uint32_t decode_instances = 0;      ///< the others decode only; both 0: all take whole requests
  bool scales = false;                ///< the number of its instances changes with the load
  uint32_t instances = 0;             ///< that serve at the start
  uint32_t min_instances = 0;         ///< that serve at least
  uint32_t max_instances = 0;         ///< that serve at most
  duration cold_start = 30s;  ///< with no instance, requests wait that long for one, then they are refused
  scaling_loop_spec loop = {};

  bool disaggregated() const { return prefill_instances > 0; }
};

/// A place of a language model: one of its engines, which serves from the start if the model does not scale.
struct engine_spec {
  llm_id model;
  node_id node;  ///< a worker
  instance_phase phase = instance_phase::both;
};

/// How language models get more and fewer instances.
struct scaling_spec {
  scaling_policy policy = scaling_policy::blitz;
  duration keep = 300s;  ///< `serverless`: how long a node keeps weights in its memory after the last request
  uint32_t copies = 1;   ///< complete copies of a scaling model's weights in the cluster's memory, always
  uint64_t chunk_bytes = 4 << 20;  ///< of a chunk of weights, which is pulled at once
  uint32_t window = 4;             ///< chunks that are being pulled at a time
  duration park = 60s;  ///< that a drained instance keeps its weights loaded, to serve again at once
};

/// An encoder of texts. Each of its lengths is a model of its own: texts run in the shortest one that they
/// fit into.
struct encoder_spec {
  struct length {
    uint32_t tokens = 0;  ///< of a text, with those around it
    model_id model;
  };
  std::string name;
  std::string path;             ///< absolute: the folder of a checkpoint
  std::vector<length> lengths;  ///< ascending
};

/// How requests are padded to the shapes of a model.
struct padding_spec {
  uint32_t axis = 0;                   ///< of whole shapes: 0 is the dimension for rows, if there is one
  std::vector<uint32_t> lengths;       ///< of this axis, by shape; ascending
  std::vector<input_constant> inputs;  ///< that are padded, and with what value
};

/// A [[model]] with several shapes. Each of them is a model of its own: a request runs in the one of its
/// shape, or in the shortest that it can be padded to.
struct shaped_model_spec {
  std::string name;
  std::vector<model_id> shapes;
  std::optional<model_id> any_shape;  ///< for requests that none of these takes
  std::optional<padding_spec> padding;
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
  std::string hash;             ///< 16 hex digits over the values of the file, not its spelling
  std::string directory;        ///< directory of the file; its relative paths start there
  std::string model_directory;  ///< absolute; clients may load models below it; empty: none
  std::vector<plugin_spec> plugins;
  std::vector<domain_spec> domains;  ///< none: one for all
  std::vector<node_spec> nodes;
  std::vector<actor_spec> actors;  ///< of plug-ins
  std::vector<link_spec> links;
  bool pace_links = false;  ///< real nodes hold their pulls to the rates of interfaces
  std::vector<model_spec> models;
  std::vector<shaped_model_spec> shaped_models;
  std::vector<encoder_spec> encoders;
  std::vector<llm_spec> llms;
  std::vector<engine_spec> engines;  ///< by model, in the order of its nodes in the file
  policy_spec policy;
  placer_spec placer;
  autoscale_spec autoscale;
  scaling_spec scaling;
  limit_spec limits;
  restart_spec restart;
  security_spec security;
  data_lane_spec data_lane;
  std::vector<tenant_spec> tenants;  ///< empty: gateways need no API key
  std::vector<slot_spec> slots;      ///< one per device, unless a placement adds others
};

inline uint32_t domain_count(const cluster_spec& cluster) {
  return cluster.domains.empty() ? 1 : static_cast<uint32_t>(cluster.domains.size());
}
inline const std::string& node_name(const cluster_spec& cluster, node_id node) {
  return cluster.nodes[node.value].name;
}
/// Empty if the cluster has one domain only.
inline std::string domain_name(const cluster_spec& cluster, uint32_t domain) {
  return domain < cluster.domains.size() ? cluster.domains[domain].name : std::string{};
}
/// Rate of a node's interface, in each direction.
inline double interface_gbit_per_s(const cluster_spec& cluster, node_id node) {
  constexpr double without_link = 10;
  for (const auto& l : cluster.links)
    for (const auto& name : l.nodes)
      if (name == node_name(cluster, node)) return l.gbit_per_s;
  return without_link;
}
/// The scheduling domain of each slot, by slot id.
inline std::vector<uint32_t> slot_domains(const cluster_spec& cluster) {
  std::vector<uint32_t> out;
  for (const auto& s : cluster.slots) out.push_back(cluster.nodes[s.node.value].domain);
  return out;
}

/// The node with the role `scheduler`. With standbys another node may be the leader (`leadership`).
inline node_id scheduler_of(const cluster_spec& cluster) {
  for (uint32_t i = 0; i < cluster.nodes.size(); ++i)
    if (cluster.nodes[i].has(node_role::scheduler)) return node_id{i};
  return {};
}

/// The nodes that may become the leader: the scheduler, then the standbys in file order.
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

inline bool scales_models(const cluster_spec& cluster) {
  return std::ranges::any_of(cluster.llms, &llm_spec::scales);
}
/// The node has a place of a model that scales.
inline bool has_scaling_place(const cluster_spec& cluster, node_id node) {
  return std::ranges::any_of(cluster.engines, [&](const engine_spec& e) {
    return e.node == node && cluster.llms[e.model.value].scales;
  });
}

/// The node keeps files of the tensor models on its devices in memory, so that peers can pull them.
inline bool keeps_model_files(const cluster_spec& cluster, node_id node) {
  return cluster.nodes[node.value].parameter_bytes > 0 &&
         std::ranges::any_of(cluster.slots, [&](const slot_spec& s) { return s.node == node; });
}
/// Index of the chain link of tensor models, after those of the language models.
inline uint32_t files_link(const cluster_spec& cluster) { return static_cast<uint32_t>(cluster.llms.size()); }
/// The parameter pool of the leader has copies to order.
inline bool moves_weights(const cluster_spec& cluster) {
  if (scales_models(cluster)) return true;
  for (uint32_t i = 0; i < cluster.nodes.size(); ++i)
    if (keeps_model_files(cluster, node_id{i})) return true;
  return false;
}
/// The files of a tensor model. The lengths of an encoder have them together, and so do the shapes of a
/// model.
inline weights_id files_of(const cluster_spec& cluster, model_id model) {
  for (const auto& e : cluster.encoders)
    if (std::ranges::count(e.lengths, model, &encoder_spec::length::model) > 0)
      return weights_of(e.lengths.front().model);
  for (const auto& s : cluster.shaped_models)
    if (std::ranges::count(s.shapes, model) > 0 || s.any_shape == model) return weights_of(s.shapes.front());
  return weights_of(model);
}

inline bool has_standby(const cluster_spec& cluster) { return leader_candidates(cluster).size() > 1; }

}  // namespace troupe
