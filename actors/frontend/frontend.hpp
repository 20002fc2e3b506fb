// frontend is the interface of a node to the HTTP handlers of its gateway. node_runtime implements it; tests
// may implement their own.
#pragma once
#include "actors/llm/catalog.hpp"
#include "actors/runtime/events.hpp"
#include "actors/tensor/catalog.hpp"
#include "messages/common/ids.hpp"
#include "transport/memory/slot_pool.hpp"

namespace troupe {

/// Thread-safe: every HTTP thread calls it. Outlives the handlers and their replies.
class frontend {
 public:
  virtual ~frontend() = default;

  /// Registered memory of this node, for the inputs of requests.
  virtual slot_pool& pool() = 0;
  virtual const catalog& models() const = 0;
  virtual const llm_catalog& language_models() const = 0;
  /// An id that no other request of the cluster has.
  virtual request_id next_request_id() = 0;

  /// To the gateway of this node; returns at once. A node that is ending delivers nothing.
  virtual void to_gateway(actor_message message) = 0;
  virtual void to_llm_gateway(actor_message message) = 0;
};

}  // namespace troupe
