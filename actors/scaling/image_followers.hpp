// The chain links of other nodes that follow the images of this one: they are told which chunks are ready,
// and when the images are gone.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "gpu/llm/image_store.hpp"
#include "messages/cluster/events.hpp"
#include "messages/common/ids.hpp"
#include "messages/scaling/image_transfer.hpp"

namespace troupe {

class image_followers {
 public:
  using images = std::shared_ptr<const llm::image_set>;
  using announcement = std::pair<address, chunks_ready>;

  /// `what`: the images that its node has now; null: none. A node follows the images of a model once, with
  /// the latest message.
  void follow(const address& link, const follow_chunks& f, images what);
  /// The images of a model are given up.
  void drop(weights_id model);
  void down(const node_down& n);
  void clear() { all_.clear(); }

  /// The news of followers since the last call.
  std::vector<announcement> news();
  uint32_t size() const { return static_cast<uint32_t>(all_.size()); }

 private:
  struct follower {
    address link;
    uint64_t follow = 0;
    images what;        ///< null: they are gone
    uint32_t next = 0;  ///< chunk to announce
  };
  static void announce(weights_id model, follower& f, std::vector<announcement>& out);

  std::map<std::pair<weights_id, node_id>, follower> all_;
};

}  // namespace troupe
