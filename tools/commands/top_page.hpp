// The page of `troupe top`: the difference of two samples of a cluster. Pure.
#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "messages/commands/commands.hpp"

namespace troupe {

/// The nodes' answers at one time. Counters start with their actors and are kept by node, because each node
/// restarts from 0 on its own, or may be missing from a sample.
struct top_sample {
  struct batches {
    double count = 0, rows = 0;
  };
  struct busy {
    double seconds = 0, batches = 0;
  };
  struct node {
    std::string name;
    std::string error;  ///< why it did not answer; empty: it answered
    uint64_t incarnation = 0;
    bool ready = false;
    double in_flight = 0;
    std::map<std::string, batches> of_models;
    std::map<uint32_t, busy> of_slots;
    std::optional<ledger_report> ledger;      ///< if it is a gateway that reported it
    std::optional<latency_report> latencies;  ///< likewise
  };
  struct model {
    double slots = 0, queued_rows = 0;
  };
  struct slot {
    std::string node;
    std::string state;
  };
  time_point at{};
  std::vector<node> nodes;
  std::map<std::string, model> models;
  std::map<uint32_t, slot> slots;

  /// A node's answer to "status"; the new last node.
  void add_status(const nlohmann::json& status);
  void add(const arbiter_state& arbiter, const std::vector<std::string>& node_names);
};

/// {"interval_s", "nodes": [...], "models": [...], "slots": [...]}: rates over the time between the samples.
/// A rate covers only nodes with counters in both samples and in the same incarnation; without such nodes it
/// is null.
nlohmann::ordered_json top_document(const top_sample& before, const top_sample& now);

/// The document as a page for people.
std::string top_table(const nlohmann::ordered_json& document);

}  // namespace troupe
