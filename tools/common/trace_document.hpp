// What requests and batches went through, as a trace that Perfetto (ui.perfetto.dev) and chrome://tracing
// read: Chrome's JSON trace event format. Pure.
//
// A node is a process. Of a gateway: as many tracks as requests overlap, each request a slice with the slices
// of its stations inside. Of a model queue: an instant for each batch that it orders. Of an execution slot:
// its batches, and on tracks of their own the time in which their inputs are pulled. An arrow leads from a
// request's order to its batch.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "messages/commands/commands.hpp"

namespace troupe {

/// All times are of one clock; those of other nodes may be off by the error of the clocks' conversion, so the
/// document moves stations of a request that would be out of order to the nearest time that is not.
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
  uint64_t lost = 0;  ///< entries that did not fit where they were recorded
};

/// {"traceEvents": [...], "displayTimeUnit": "ms", "otherData": {"requests", "batches", "lost"}}
nlohmann::ordered_json trace_document(const cluster_spec& cluster, const trace_records& records);

/// Writes the document to a file; throws std::runtime_error that names it.
void write_trace(const std::string& file, const cluster_spec& cluster, const trace_records& records);

}  // namespace troupe
