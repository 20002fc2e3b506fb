// The choices of a generation request: the tokens of each that its client has received, and which are open.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "messages/llm/generation.hpp"

namespace troupe {

class open_choices {
 public:
  open_choices() = default;
  explicit open_choices(uint32_t choices) : choices_(choices), left_(choices) {}

  /// Number of choices from the start, and of open ones.
  size_t size() const { return choices_.size(); }
  uint32_t left() const { return left_; }
  /// Also false for an unknown choice.
  bool open(uint32_t choice) const { return choice < choices_.size() && choices_[choice].open; }

  /// Adds a token and gives the length of the choice. Requires: it is open.
  size_t add(uint32_t choice, llm::token which) {
    choices_[choice].tokens.push_back(which);
    return choices_[choice].tokens.size();
  }
  /// Ends a choice and discards its tokens; true if it was the last open one. Requires: it is open.
  bool end(uint32_t choice) {
    choices_[choice] = {false, {}};
    return --left_ == 0;
  }

  /// The open choices with their tokens, for an engine that continues them.
  std::vector<sequence_progress> progress() const {
    std::vector<sequence_progress> out;
    for (uint32_t i = 0; i < choices_.size(); ++i)
      if (choices_[i].open) out.push_back({i, choices_[i].tokens});
    return out;
  }
  /// The tokens of the open choices, each after a prompt of so many tokens.
  uint64_t tokens(size_t prompt) const {
    uint64_t sum = 0;
    for (const auto& c : choices_)
      if (c.open) sum += prompt + c.tokens.size();
    return sum;
  }

 private:
  struct seen_choice {
    bool open = true;
    std::vector<llm::token> tokens;
  };
  std::vector<seen_choice> choices_;
  uint32_t left_ = 0;
};

}  // namespace troupe
