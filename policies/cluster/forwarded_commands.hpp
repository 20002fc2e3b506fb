// Commands that a deployer has passed on to the deployer of another node.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/deployment/deployment.hpp"

namespace troupe {

class forwarded_commands {
 public:
  using answer = std::function<void(change_reply)>;

  explicit forwarded_commands(size_t limit) : limit_(limit) {}

  /// Tokens begin at the incarnation, so that those of an earlier process are lower.
  void begin(incarnation_id incarnation) { next_token_ = incarnation.value; }
  bool full() const { return waiting_.size() >= limit_; }
  /// Returns the token that the command must carry. Requires: not full.
  uint64_t add(node_id to, answer reply);
  /// Moves out the recipient of the reply with this token; null if it is unknown.
  answer take(uint64_t token);
  /// Moves out the recipients of the replies that `node` will not send, because its incarnation has ended.
  std::vector<answer> lose(node_id node);

 private:
  struct forwarded {
    node_id to;
    answer reply;
  };

  const size_t limit_;
  std::map<uint64_t, forwarded> waiting_;  ///< by token
  uint64_t next_token_ = 0;
};

}  // namespace troupe
