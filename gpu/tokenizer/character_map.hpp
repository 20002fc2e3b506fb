// A table of SentencePiece that rewrites text: at each place its longest match, as in "nmt_nfkc".
#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace troupe::llm {

/// By libsentencepiece. Immutable, thread-safe.
class character_map {
 public:
  /// `table`: `precompiled_charsmap` of a model. Throws model_error, which names `file`, if it is damaged.
  character_map(std::string_view table, const std::string& file);
  ~character_map();
  character_map(character_map&&) noexcept;

  std::string operator()(std::string_view text) const;

 private:
  struct state;
  std::unique_ptr<const state> state_;
};

}  // namespace troupe::llm
