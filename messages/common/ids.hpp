// Names of things. A cluster file is the same on every node (nodes compare its hash), so dense indices into
// it mean the same everywhere and can name things on the wire.
#pragma once
#include <cstdint>
#include <string>

#include "messages/common/message.hpp"
#include "messages/common/roles.hpp"

namespace troupe {

using node_id = strong_id<struct node_tag, uint32_t>;        ///< index of a [[node]] in the cluster file
using model_id = strong_id<struct model_tag, uint32_t>;      ///< index of a [[model]] in the cluster file, or
                                                             ///< given by the deployer beyond them
using llm_id = strong_id<struct llm_tag, uint32_t>;          ///< index of an [[llm]] in the cluster file
using weights_id = strong_id<struct weights_tag, uint32_t>;  ///< `weights_of` a model
using engine_id = strong_id<struct engine_tag, uint32_t>;    ///< of a language model, dense over the cluster
using slot_id = strong_id<struct slot_tag, uint32_t>;        ///< an execution slot, dense over the cluster
using batch_id = strong_id<struct batch_tag, uint64_t>;      ///< unique within its model queue's incarnation
using request_id = strong_id<struct request_tag, uint64_t>;  ///< unique over the cluster; 0 is none

/// What travels between nodes: the weights of a language model, or the files of a tensor model.
inline constexpr uint32_t first_model_files = 1u << 31;
constexpr weights_id weights_of(llm_id m) { return {m.value}; }
constexpr weights_id weights_of(model_id m) { return {m.value + first_model_files}; }
constexpr bool are_model_files(weights_id w) { return w.value >= first_model_files; }
/// Requires: they are of a language model.
constexpr llm_id llm_of(weights_id w) { return {w.value}; }
/// Requires: they are the files of a tensor model.
constexpr model_id model_of(weights_id w) { return {w.value - first_model_files}; }

/// Where a sequence is that no engine has.
inline constexpr engine_id no_engine{UINT32_MAX};

/// One incarnation of a node: larger than that of any earlier incarnation of the same node. 0 stands for any.
using incarnation_id = strong_id<struct incarnation_tag, uint64_t>;

/// A term of a scheduler. Workers refuse orders of a term lower than the highest that they have seen.
using term_id = strong_id<struct term_tag, uint64_t>;

/// An actor, wherever it runs: messages between nodes name actors like this, never by CAF handle. `index`
/// tells the actors of a role apart (`one_per` in actors/kinds/<role>.cpp): a model_queue's is its model_id,
/// a gpu_worker's its slot_id, an llm_engine's its engine_id; 0 where a node has only one.
struct address {
  node_id node;
  incarnation_id incarnation;  ///< 0 = any; replies carry the incarnation that asked
  role kind = role::node;
  uint32_t index = 0;

  TROUPE_MESSAGE(address, node, incarnation, kind, index)
  bool operator==(const address&) const = default;
};

std::string to_string(const address& a);  ///< "node 2 / gpu_worker 5"

}  // namespace troupe
