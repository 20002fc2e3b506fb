// The configuration of an encoder's folder: networks as Transformers and Sentence Transformers
// store them, or an ONNX file with the same files beside it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace troupe {

/// How the vectors of a text's tokens become its answer.
enum class encoder_pooling : uint8_t {
  mean,       ///< their mean
  cls,        ///< the first one
  classifier  ///< scores of the first one, by a head
};

/// Networks of safetensors.
enum class encoder_family : uint8_t {
  bert,
  roberta,    ///< also XLM-R and CamemBERT: positions begin behind that of the padding
  mpnet,      ///< likewise; attention also depends on distances; no types of tokens
  distilbert  ///< no types of tokens
};

/// Of an ONNX file the fields are 0 that only its graph says: `layers` to `intermediate`, `types`, and, if
/// config.json lacks it, `vocabulary`.
struct encoder_config {
  std::string folder;
  std::string onnx;  ///< the file that runs; empty: the folder's safetensors
  encoder_family family = encoder_family::bert;
  uint32_t layers = 0;
  uint32_t hidden = 0;
  uint32_t heads = 0;
  uint32_t intermediate = 0;
  uint32_t vocabulary = 0;
  uint32_t types = 0;           ///< of tokens; 0: the network knows none
  uint32_t first_position = 0;  ///< row of the position embedding of the first token
  uint32_t positions = 0;       ///< rows of the position embedding
  uint32_t max_tokens = 0;      ///< of a text, with those around it
  uint32_t padding = 0;         ///< token behind shorter texts
  float norm_epsilon = 1e-12F;
  std::string activation;  ///< "gelu", "gelu_new" or "relu"
  encoder_pooling pooling = encoder_pooling::mean;
  bool normalise = true;  ///< embeddings have length 1
  uint32_t labels = 0;    ///< scores of a classifier
  bool sigmoid = true;    ///< a classifier's score is the logistic function of its logit

  bool reranks() const { return pooling == encoder_pooling::classifier; }
  /// Numbers of an answer.
  uint32_t width() const { return reranks() ? labels : hidden; }
};

/// config.json and, of Sentence Transformers, modules.json, 1_Pooling/config.json and
/// sentence_bert_config.json. A model for sequence classification is a classifier; without modules.json,
/// other models get the mean, of length 1. Beside an ONNX file (gpu/checkpoint/encoder_folder.hpp)
/// config.json may be missing, and its network may be any. Throws model_error, which names file, key and fix.
encoder_config read_encoder_config(const std::filesystem::path& folder);

}  // namespace troupe
