// Limits of time and memory of one rendering, as templates and requests are untrusted.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace troupe::llm::jinja {

constexpr size_t max_text_bytes = size_t{4} << 20;  // of the output, and of each intermediate text
constexpr uint64_t max_template_steps = 4'000'000;
constexpr uint64_t bytes_a_step = 64;         // of text read or written
constexpr uint32_t deepest_value = 100;       // nesting of lists, which are traversed recursively
constexpr uint32_t deepest_evaluation = 400;  // nesting of expressions, statements and macro calls
constexpr int64_t longest_range = 100'000;    // limit of jinja2's sandbox

/// An error of the request or the template while rendering. The interpreter adds the place.
struct refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// raise_exception, with the template's message.
struct raised : refusal {
  using refusal::refusal;
};

/// All work spends from the budget in proportion to the data that it touches, so that time and memory are
/// bounded together.
class budget {
 public:
  void spend(uint64_t steps = 1) {
    if (steps > left_) throw refusal("takes too many steps: is the conversation too long for this template?");
    left_ -= steps;
  }

  /// Call before a text of this many bytes is made or searched.
  void spend_bytes(uint64_t bytes) {
    if (bytes > max_text_bytes) throw refusal("renders more than 4 MiB: shorten the conversation");
    spend(1 + bytes / bytes_a_step);
  }

  /// Call before this many bytes are processed character by character.
  void spend_characters(uint64_t bytes) {
    spend_bytes(bytes);
    spend(bytes / 8);
  }

  /// Call before this many elements are copied or compared.
  void spend_items(uint64_t items) { spend(1 + items); }

 private:
  uint64_t left_ = max_template_steps;
};

}  // namespace troupe::llm::jinja
