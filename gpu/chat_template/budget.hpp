// What one rendering may cost. A template is a program from a stranger's file, run on a stranger's request.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace troupe::llm::jinja {

constexpr size_t max_text_bytes = size_t{4} << 20;  // of the output, and of any one text on the way
constexpr uint64_t max_template_steps = 4'000'000;
constexpr uint64_t bytes_a_step = 64;         // of text that is read or written
constexpr uint32_t deepest_value = 100;       // of lists in lists; what walks them does so by recursion
constexpr uint32_t deepest_evaluation = 400;  // of expressions, statements and macro calls inside each other
constexpr int64_t longest_range = 100'000;    // as jinja2's sandbox

/// The request or the template is at fault while rendering; the interpreter adds the place.
struct refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// raise_exception: the template's own words.
struct raised : refusal {
  using refusal::refusal;
};

/// Every piece of work pays, in proportion to what it touches: so time and memory are bounded together.
class budget {
 public:
  void spend(uint64_t steps = 1) {
    if (steps > left_) throw refusal("takes too many steps: is the conversation too long for this template?");
    left_ -= steps;
  }

  /// Before a text of so many bytes is made or searched.
  void spend_bytes(uint64_t bytes) {
    if (bytes > max_text_bytes) throw refusal("makes a text longer than 4 MiB: shorten the conversation");
    spend(1 + bytes / bytes_a_step);
  }

  /// Before each character of so many bytes is looked at by itself.
  void spend_characters(uint64_t bytes) {
    spend_bytes(bytes);
    spend(bytes / 8);
  }

  /// Before so many elements are copied or compared.
  void spend_items(uint64_t items) { spend(1 + items); }

 private:
  uint64_t left_ = max_template_steps;
};

}  // namespace troupe::llm::jinja
