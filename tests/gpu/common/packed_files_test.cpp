#include "gpu/common/packed_files.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "gpu/common/model_error.hpp"

using namespace troupe;

namespace {

using named_texts = std::vector<std::pair<std::string, std::string>>;

model_file_list list_of(const named_texts& files, std::string opened = {}) {
  model_file_list out{std::move(opened), {}};
  for (const auto& [name, text] : files) out.files.push_back({name, text.size()});
  return out;
}

std::vector<std::byte> packed(const named_texts& files, std::string opened = {}) {
  const packed_layout layout(list_of(files, std::move(opened)));
  std::vector<std::byte> out(layout.bytes());
  std::ranges::copy(layout.head(), out.begin());
  for (size_t i = 0; i < files.size(); ++i)
    std::memcpy(out.data() + layout.offset_of(i), files[i].second.data(), files[i].second.size());
  const auto seal = packed_seal(std::span(out).first(out.size() - packed_seal_bytes));
  std::memcpy(out.data() + out.size() - packed_seal_bytes, &seal, sizeof seal);
  return out;
}

std::string refusal(std::span<const std::byte> bytes) {
  try {
    unpack(bytes);
    return {};
  } catch (const model_error& e) {
    return e.what();
  }
}

std::string refusal(const named_texts& files, std::string opened = {}) {
  try {
    packed_layout(list_of(files, std::move(opened)));
    return {};
  } catch (const model_error& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("packed files: they come out as they went in") {
  const named_texts files{
      {"m.onnx", std::string(100, 'a')}, {"data/w.bin", std::string(4096, 'b')}, {"empty", ""}};
  const auto all = packed(files, "m.onnx");
  CHECK(all.size() % 64 == 0);
  const auto out = unpack(all);
  CHECK(out.opened == "m.onnx");
  REQUIRE(out.files.size() == files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    CHECK(out.files[i].name == files[i].first);
    const auto& bytes = out.files[i].bytes;
    CHECK(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) == files[i].second);
    CHECK((bytes.data() - all.data()) % 64 == 0);
  }
  CHECK(unpack(packed({{"config.json", "{}"}})).opened.empty());
}

TEST_CASE("packed files: names that lead out of the folder are refused on both ends") {
  for (const auto* name : {"", "/etc/passwd", "..", "../x", "a/../../x", "a/..", ".", "./x", "a//b", "a/"})
    CHECK_MESSAGE(refusal({{name, "x"}}) != "", name);
  CHECK(refusal({{std::string("a\0b", 3), "x"}}) != "");
  CHECK(refusal({{std::string(2000, 'a'), "x"}}) != "");
  CHECK(refusal({{"a", "x"}, {"a", "y"}}) != "");
  CHECK(refusal({{"a", "x"}}, "b") != "");
  CHECK(refusal(named_texts{}) != "");
  for (const auto* name : {"a", "..a", "a..", "...", "a/b/c"}) CHECK(refusal({{name, "x"}}) == "");
  auto all = packed({{"ab", "x"}});
  std::vector<std::byte> outside(all);
  const std::string dots = "..";
  const auto at = std::search(outside.begin(), outside.end(), reinterpret_cast<const std::byte*>("ab"),
                              reinterpret_cast<const std::byte*>("ab") + 2);
  REQUIRE(at != outside.end());
  std::memcpy(&*at, dots.data(), 2);
  CHECK(refusal(outside).find("leads out of the folder") != std::string::npos);
}

TEST_CASE("packed files: damage and mixtures are refused") {
  const auto all = packed({{"a", std::string(200, 'x')}});
  for (size_t i = 0; i < all.size(); ++i) {
    auto damaged = all;
    damaged[i] ^= std::byte{1};
    CHECK(refusal(damaged) != "");
  }
  for (size_t n = 0; n < all.size(); ++n) CHECK(refusal(std::span(all).first(n)) != "");
  auto longer = all;
  longer.resize(all.size() + 64);
  CHECK(refusal(longer) != "");
}

TEST_CASE("packed files: sizes beyond any machine are refused without an overflow") {
  for (const auto size : {UINT64_MAX, UINT64_MAX - 63, uint64_t{1} << 63}) {
    const model_file_list list{{}, {{"a", size}, {"b", size}}};
    CHECK_THROWS_AS(packed_layout{list}, model_error);
  }
}
