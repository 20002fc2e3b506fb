// Detection of stop strings in a text that arrives in pieces. The text ends before the first complete stop
// string; of several that end at the same byte the longest counts, so the cuts between pieces do not matter.
//
// Knuth, Morris, Pratt: "Fast pattern matching in strings" (1977), once per stop string: constant amortised
// cost per byte, even for repetitive texts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

class stop_strings {
 public:
  /// Empty stop strings are ignored. `include`: the text includes the stop string that ends it.
  explicit stop_strings(const std::vector<std::string>& stops = {}, bool include = false);

  /// Appends `piece` and returns the text that is now final: all but an end that may begin a stop string.
  /// Pieces of whole UTF-8 characters give whole characters, if the stop strings are UTF-8. Empty once a stop
  /// string was found.
  std::string add(std::string_view piece);
  bool found() const { return found_; }
  /// The text has ended: returns the withheld rest; empty if a stop string was found.
  std::string finish();

 private:
  struct search {
    std::string stop;
    std::vector<uint32_t> borders;  // [i]: of stop[0..i], the longest proper prefix that is also its suffix
    size_t matched = 0;             // the longest prefix of `stop` that the text ends with
    void advance(char c);
  };
  const search* longest() const;  // the longest partial match; null: none

  std::vector<search> searches_;
  bool include_ = false;
  bool found_ = false;
};

}  // namespace troupe
