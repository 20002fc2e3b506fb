// The measure `scaling` of experiments: a language model gets more instances, by the actors of a real cluster
// in virtual time (BlitzScale, Figures 5 and 18, Table 1).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/reader.hpp"

namespace troupe::lab {

struct scenario;
struct sample;

struct scaling_setup {
  double model_gb = 14;  ///< weights of an instance
  uint32_t layers = 32;
  uint32_t gpus = 1;  ///< of an instance; each has its share of the weights, and links of its own
  /// Of a GPU, in Gbit/s; 0: it has none.
  double network_gbit_per_s = 0, scale_up_gbit_per_s = 0, host_gbit_per_s = 0, ssd_gbit_per_s = 0;
  uint32_t from = 1, to = 2;  ///< instances
  uint32_t per_domain = 1;    ///< instances in a scale-up domain, or on a host
  double chunk_mib = 4;
  uint32_t window = 4;
};

/// Sources of the weights of new instances:
///   blitz       instances in the same scale-up domain, and others over the network
///   network     instances over the network
///   scale_up    instances in the scale-up domain, of which all are members
///   serverless  the memory of their host if it has an instance already, otherwise its SSD
///   host, ssd   the memory or the SSD of their host
inline constexpr std::string_view scaling_policies[]{"blitz",      "network", "scale_up",
                                                     "serverless", "host",    "ssd"};

/// Reads `[scaling]` of `root`. Absent keys keep the values in `out`, or the defaults. Without the table
/// nothing changes.
void read_scaling(section& root, std::optional<scaling_setup>& out);
/// Why the policy cannot run: a rate that it needs is missing. Empty: it can.
std::string missing_rate(const scaling_setup& s, std::string_view policy);

/// Metrics, in seconds after the order to scale:
///   ready_s         a router knows that every new instance serves
///   first_ready_s   ... that the first one does
///   domain_ready_s  ... that those in the scale-up domain, or on the host, of the first instance do
///   weights_s       all weights have arrived
///   planned_s       the leader's prediction of that, if it made a plan
///   line_s          weights of an instance / the slowest rate that they come at
/// and `network_gb`, `scale_up_gb`, `host_gb`, `ssd_gb`: bytes that were moved, by their source. Table:
/// instances over time. Throws std::runtime_error if an instance does not become ready, or if the run
/// violates an invariant.
sample measure_scaling(const scenario& s, std::string_view policy, uint64_t seed);

}  // namespace troupe::lab
