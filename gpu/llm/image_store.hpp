// The images in a node's memory, by language model. Actors of parameters (actors/scaling/) hold, fill and
// drop them; engines read those that their node has.
#pragma once
#include <cstdint>
#include <memory>

#include "gpu/llm/image_set.hpp"
#include "messages/common/ids.hpp"

namespace troupe::llm {

/// Thread-safe. It does not keep images alive: their users do.
class image_store {
 public:
  virtual ~image_store() = default;
  /// Those in memory; null: there are none.
  virtual std::shared_ptr<image_set> find(llm_id model) = 0;
  /// New ones, to be written by the caller, in memory that peers may pull from. Requires: `find` is null.
  /// Throws std::bad_alloc if the node has no room for them, model_error if the model's files are unusable.
  virtual std::shared_ptr<image_set> create(llm_id model) = 0;
  /// Reads what is missing from the checkpoint, on another thread, which is the images' writer from now on.
  virtual void read(llm_id model, std::shared_ptr<image_set> images) = 0;
  /// Bytes that the images of a model take; 0: its files are unusable, or its engines load it themselves.
  virtual uint64_t bytes(llm_id model) const = 0;
  /// Bytes for images in all.
  virtual uint64_t capacity() const = 0;
};

}  // namespace troupe::llm
