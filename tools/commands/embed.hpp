// `troupe embed`: the embeddings of texts by an encoder, without a cluster.
#pragma once
#include <string>
#include <vector>

namespace troupe {

struct embed_options {
  std::string model;  ///< folder of an encoder
  std::vector<std::string> texts;
  int threads = 1;
  bool json = false;
};

/// Texts that are longer than the model takes are cut at their end. Prints a line for each text, or with
/// `json` one document: `data[i].embedding`, and `data[i].ids`, the tokens. Returns 0; 1 if the batch failed;
/// 2 for an unusable model, with one message to standard error.
int embed(const embed_options& options);

}  // namespace troupe
