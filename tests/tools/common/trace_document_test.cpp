#include "tools/common/trace_document.hpp"

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

using namespace troupe;

namespace {

constexpr time_point moment(double ms) { return time_point{from_ms(ms)}; }

cluster_spec two_nodes() {
  cluster_spec c;
  for (const char* name : {"head", "left"}) {
    node_spec n;
    n.name = name;
    c.nodes.push_back(n);
  }
  c.nodes[0].roles = {node_role::gateway, node_role::scheduler};
  model_spec m;
  m.name = "mlp";
  c.models.push_back(m);
  return c;
}

request_trace ran(uint64_t id, double arrival, const batch_times& times) {
  request_trace r;
  r.id = request_id{id};
  r.outcome = "finished";
  r.batch = batch_id{1};
  r.slot = slot_id{3};
  r.arrival = moment(arrival);
  r.accepted_at = moment(arrival + 0.1);
  r.times = times;
  r.completed_at = moment(9.5);
  r.answered_at = moment(10);
  return r;
}

}  // namespace

TEST_CASE("trace: the stages of a request lie inside it in causal order, and an arrow leads to its batch") {
  const batch_times times{moment(4), moment(2), moment(2.5), moment(3), moment(4), moment(9)};
  trace_records records;
  // The gateway saw the order before it accepted: the clocks are slightly off.
  records.requests = {{node_id{0}, ran(7, 1.95, times)}, {node_id{0}, ran(8, 1, times)}};
  batch_trace b;
  b.batch = batch_id{1};
  b.slot = slot_id{3};
  b.rows = b.requests = 2;
  b.times = times;
  records.batches = {{node_id{1}, b}};
  const auto doc = trace_document(two_nodes(), records);

  std::map<int, double> end_of_track;
  std::vector<std::string> stations;
  int starts = 0, ends = 0;
  for (const auto& e : doc["traceEvents"]) {
    if (e["ph"] == "s") ++starts;
    if (e["ph"] == "f") {
      ++ends;
      CHECK(e["pid"] == 2);
      CHECK(e["ts"] == 3000.0);  // the batch starts 3 ms after the first arrival
    }
    if (e["ph"] != "X" || e["pid"] != 1) continue;
    CHECK(e["dur"].get<double>() >= 0);
    if (e["name"] == "mlp") continue;
    auto& last = end_of_track[e["tid"].get<int>()];
    CHECK(e["ts"].get<double>() >= last - 1e-6);
    last = e["ts"].get<double>() + e["dur"].get<double>();
    stations.push_back(e["name"]);
  }
  CHECK(starts == 2);
  CHECK(ends == 2);
  CHECK(end_of_track.size() == 2);  // they overlap: two tracks
  CHECK(std::vector(stations.begin(), stations.begin() + 8) ==
        std::vector<std::string>{"parse", "queued", "ordered", "inputs pulled", "held until its start",
                                 "executed", "reported", "outputs pulled"});
  CHECK(doc["otherData"]["requests"] == 2);
}

TEST_CASE("trace: a request that was dropped waited until then") {
  request_trace r;
  r.id = request_id{1};
  r.outcome = "dropped";
  r.reason = "late";
  r.arrival = moment(1);
  r.accepted_at = moment(1.5);
  r.answered_at = moment(4);
  const auto doc = trace_document(two_nodes(), {{{node_id{0}, r}}, {}, 0});
  std::vector<std::string> names;
  for (const auto& e : doc["traceEvents"])
    if (e["ph"] == "X") names.push_back(e["name"]);
  CHECK(names == std::vector<std::string>{"mlp dropped", "parse", "queued"});
}

TEST_CASE("trace: a preempted batch is a slice as long as it ran, one that never began is an instant") {
  trace_records records;
  batch_trace b;
  b.batch = batch_id{1};
  b.slot = slot_id{3};
  b.rows = b.requests = 2;
  b.refused = "preempted";
  b.times = {moment(4), moment(2), moment(2.5), moment(3), moment(4), moment(6)};
  records.batches.push_back({node_id{1}, b});
  b.batch = batch_id{2};
  b.times = {moment(4), moment(2), moment(2.5), never, never, moment(6)};
  records.batches.push_back({node_id{1}, b});
  const auto doc = trace_document(two_nodes(), records);
  double slice = 0;
  int instants = 0;
  for (const auto& e : doc["traceEvents"]) {
    if (e["name"] == "mlp #1 preempted") slice = e["dur"];
    instants += e["name"] == "refused mlp #2: preempted";
  }
  CHECK(slice == doctest::Approx(2000));
  CHECK(instants == 1);
}
