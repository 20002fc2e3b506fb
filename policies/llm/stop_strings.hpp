// Where a text that grows piece by piece is to end: before the first stop string that is complete. Of several
// that end at the same byte the longest counts, so the cuts between the pieces change nothing.
//
// Knuth, Morris, Pratt: "Fast pattern matching in strings" (1977), once for each stop string: a byte costs
// the same, however the text repeats itself.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

class stop_strings {
 public:
  /// Empty ones are ignored. `include`: the text ends with the stop string, not before it.
  explicit stop_strings(const std::vector<std::string>& stops = {}, bool include = false);

  /// What is sure to be shown, now that the text goes on with `piece`: all but the end that a stop string may
  /// have begun with. Pieces of whole UTF-8 characters give whole characters, if the stop strings are UTF-8.
  /// Once one was found: nothing.
  std::string add(std::string_view piece);
  bool found() const { return found_; }
  /// The text has ended: what was held back. Nothing if a stop string was found.
  std::string finish();

 private:
  struct search {
    std::string stop;
    std::vector<uint32_t> borders;  // [i]: of stop[0..i], the longest proper prefix that is also its suffix
    size_t matched = 0;             // the longest prefix of `stop` that the text ends with
    void advance(char c);
  };
  const search* longest() const;  // what matches most; null: nothing does

  std::vector<search> searches_;
  bool include_ = false;
  bool found_ = false;
};

}  // namespace troupe
