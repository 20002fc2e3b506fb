#include "transport/common/streaming_copy.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace troupe;

TEST_CASE("a streaming copy copies every byte, and no other") {
  std::vector<std::byte> from(50'000), into;
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 256);
  for (const size_t size : {0, 1, 15, 63, 64, 65, 127, 128, 1000, 4096, 16'384, 16'500, 40'000})
    for (size_t begin = 0; begin < 66; begin += 13)
      for (size_t place = 0; place < 66; place += 17) {
        into.assign(50'000, std::byte{0xee});
        streaming_copy(std::span(from).subspan(begin, size), std::span(into).subspan(place, size));
        const auto copied = std::span(into).subspan(place, size);
        CHECK(std::ranges::equal(copied, std::span(from).subspan(begin, size)));
        CHECK(static_cast<size_t>(std::ranges::count(into, std::byte{0xee})) ==
              into.size() - size + static_cast<size_t>(std::ranges::count(copied, std::byte{0xee})));
      }
}
