// The rates at which weights come to a node: from its peers, as its chain links measure them, and from its
// disk, as its images fill.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "messages/scaling/image_chunk.hpp"
#include "messages/scaling/image_transfer.hpp"
#include "policies/scaling/measured_rate.hpp"

namespace troupe {

class node_rates {
 public:
  void on_measured(const peer_rate& r) { peers_[r.from] = r.gbit_per_s; }

  /// Images of a model are being read, and their chunks [0, ready) are here. Called at the start, and when
  /// more chunks are ready.
  void on_reading(weights_id model, const std::vector<image_chunk>& chunks, uint32_t ready, time_point now);
  /// They are not being read, or were dropped.
  void on_no_reading(weights_id model) { readings_.erase(model); }

  /// The latest rate of each peer, by node.
  std::vector<peer_rate> peers() const;
  /// 0: too little was read.
  double disk_gbit_per_s() const { return disk_.gbit_per_s(); }

 private:
  struct reading {
    uint32_t ready = 0;
    time_point since = never;
  };
  std::map<node_id, double> peers_;
  std::map<weights_id, reading> readings_;
  measured_rate disk_;
};

}  // namespace troupe
