// The recorded stations of requests and batches as a trace for Perfetto (ui.perfetto.dev) and
// chrome://tracing: Chrome's JSON trace event format. Pure.
//
// A node is a process. A gateway has as many tracks as requests overlap; each request is a slice with the
// slices of its stations inside. A model queue has an instant for each batch that it orders. An execution
// slot has its batches, and separate tracks for the time in which their inputs are pulled. An arrow leads
// from a request's order to its batch.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "messages/commands/commands.hpp"

namespace troupe {

/// All times are of one clock. Those of other nodes may be off by the error of the clock conversion; the
/// document therefore moves out-of-order stations of a request to the nearest time that keeps the order.
struct trace_records {
  struct traced_request {
    node_id gateway;
    request_trace what;
  };
  struct traced_batch {
    node_id worker;
    batch_trace what;
  };
  std::vector<traced_request> requests;
  std::vector<traced_batch> batches;
  uint64_t lost = 0;  ///< entries that did not fit into the recording buffers
};

/// {"traceEvents": [...], "displayTimeUnit": "ms", "otherData": {"requests", "batches", "lost"}}
nlohmann::ordered_json trace_document(const cluster_spec& cluster, const trace_records& records);

/// Writes the document to a file; throws std::runtime_error that names it.
void write_trace(const std::string& file, const cluster_spec& cluster, const trace_records& records);

}  // namespace troupe
