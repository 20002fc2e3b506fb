// The images in a node's memory: of language models, and the packed files of tensor models
// (gpu/common/packed_files.hpp), one image each. Actors of parameters (actors/scaling/) hold, fill and drop
// them; engines and loaders read those that their node has.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "gpu/llm/image_set.hpp"
#include "messages/common/ids.hpp"

namespace troupe::llm {

/// Thread-safe. It does not keep images alive: their users do.
class image_store {
 public:
  virtual ~image_store() = default;
  /// Those in memory; null: there are none.
  virtual std::shared_ptr<image_set> find(weights_id model) = 0;
  /// New ones, to be written by the caller, in memory that peers may pull from. `bytes`: of packed files; the
  /// store knows those of language models. Requires: `find` is null, or these are other files. Throws
  /// std::bad_alloc if the node has no room for them, model_error if the model's files are unusable.
  virtual std::shared_ptr<image_set> create(weights_id model, uint64_t bytes) = 0;
  /// Reads what is missing from disk, on another thread, which is the images' writer from now on, until
  /// nobody uses them any more.
  virtual void read(weights_id model, std::shared_ptr<image_set> images) = 0;
  /// Bytes that the images of a model take by its files on this node; 0: they are unusable, or its engines
  /// load it themselves.
  virtual uint64_t bytes(weights_id model) const = 0;
  /// A tensor model's files are here, if this node has them.
  virtual void locate(weights_id files, const std::string& path) = 0;
  /// Bytes for images in all.
  virtual uint64_t capacity() const = 0;
};

}  // namespace troupe::llm
