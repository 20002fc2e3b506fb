// What `troupe top` shows: the difference of two samples of a cluster. Pure.
#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "messages/commands.hpp"

namespace troupe {

/// Counters since the start of their actors, at one time.
struct top_sample {
  struct node {
    std::string name;
    std::string error;  ///< why it did not answer; empty: it did
    bool ready = false;
    double in_flight = 0;
  };
  struct model {
    uint64_t accepted = 0, finished = 0, in_time = 0;
    std::map<std::string, uint64_t> dropped, failed;  ///< by reason
    std::map<duration, uint64_t> latencies;
    double slots = 0, queued_rows = 0, batches = 0, batched_rows = 0;
  };
  struct slot {
    std::string node;
    std::string state;
    double busy_s = 0;
    double batches = 0;
  };
  time_point at{};
  std::vector<node> nodes;
  std::map<std::string, model> models;
  std::map<uint32_t, slot> slots;

  /// A node's answer to "status".
  void add_status(const nlohmann::json& status);
  /// A gateway's books.
  void add(const ledger_report& books);
  void add(const latency_report& latencies);
  void add(const arbiter_state& arbiter, const std::vector<std::string>& node_names);
};

/// {"interval_s", "nodes": [...], "models": [...], "slots": [...]}: rates over the time between the samples.
/// A counter that went back belongs to a new life and counts from 0.
nlohmann::ordered_json top_document(const top_sample& before, const top_sample& now);

/// The document as a page for people.
std::string top_table(const nlohmann::ordered_json& document);

}  // namespace troupe
