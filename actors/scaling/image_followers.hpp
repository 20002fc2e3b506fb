// The chain links of other nodes that follow the images of this one: they are told which chunks are ready,
// and when the images are gone.
//
// Images that are dropped stay in memory until no follower can have a pull of them under way. Over shared
// memory a pull is a copy by a thread of the follower's process: pages that went back to the machine would
// come back as zeros that take memory, and end that process (SIGBUS) if /dev/shm is full. So a follower keeps
// the images until its link says that its pulls have ended. It pulls nothing else of them, so a loader need
// not go on for it.
//
// The link of a node that is down says nothing, and its process may be suspended within a copy. Its pulls
// have ended when the node is up again. Without that, its images go back `max_suspension` after it went down,
// so that a dead node holds no memory for ever. The copy of a process that is suspended for longer reads
// zeros, which the hash of the chunk shows.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "gpu/llm/kept_images.hpp"
#include "messages/cluster/events.hpp"
#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "messages/scaling/image_transfer.hpp"

namespace troupe {

class image_followers {
 public:
  using announcement = std::pair<address, chunks_ready>;
  static constexpr duration max_suspension = 30s;

  /// `what`: the images that its node has now; null: none. A node is told news of the latest images of a
  /// model that it follows.
  void follow(const address& link, const follow_chunks& f, std::shared_ptr<llm::image_set> what);
  void unfollow(const address& link, const unfollow_chunks& u);
  /// The images of a model are given up.
  void drop(weights_id model);

  void up(const node_up& n);
  void down(const node_down& n, time_point now);
  /// This node begins a new incarnation: all others are down for it.
  void lose_all(time_point now);

  /// The news of followers since the last call. Forgets those that have been down for too long.
  std::vector<announcement> news(time_point now);
  time_point next_wakeup() const;

  uint32_t size() const;           ///< that are told news
  uint64_t dropped_bytes() const;  ///< of images that only followers keep, and then give back

 private:
  using key = std::tuple<weights_id, node_id, incarnation_id, uint64_t>;  ///< the last: number of the follow
  struct follower {
    address link;
    llm::kept_images what;
    uint32_t next = 0;         ///< chunk to announce
    bool told = true;          ///< news
    bool dropped = false;      ///< the images
    time_point until = never;  ///< down: it is forgotten then

    void lose(time_point now);
  };
  static void announce(const key& k, follower& f, std::vector<announcement>& out);

  std::map<key, follower> all_;
};

}  // namespace troupe
