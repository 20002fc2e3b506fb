#include "transport/image/decode.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/transport/image/image_files.hpp"

using namespace troupe;

namespace {

constexpr uint64_t plenty = 1 << 20;

/// Red, green and blue of each pixel.
std::string rgb_of(const image& x) {
  std::string out;
  for (size_t i = 0; i < size_t{x.width} * x.height; ++i)
    for (size_t c = 0; c < 3; ++c)
      out += static_cast<char>(x.pixels[i * x.channels + (x.channels == 1 ? 0 : c)]);
  return out;
}

std::string decode_problem(const std::string& file, uint64_t max_pixels = plenty) {
  try {
    decode_image(bytes_of(file), max_pixels);
    return "";
  } catch (const image_error& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("images have the pixels that Pillow decodes") {
  const auto all = listed_images();
  REQUIRE(all.size() == 23);
  for (const auto& [name, width, height] : all) {
    CAPTURE(name);
    const auto file = image_bytes(name);
    CHECK(is_image_file(file));
    const auto x = decode_image(bytes_of(file), plenty);
    CHECK(x.width == width);
    CHECK(x.height == height);
    const auto got = rgb_of(x), expected = image_bytes(name + ".rgb");
    REQUIRE(got.size() == expected.size());
    int farthest = 0;
    for (size_t i = 0; i < got.size(); ++i)
      farthest =
          std::max(farthest, std::abs(static_cast<uint8_t>(got[i]) - static_cast<uint8_t>(expected[i])));
    CHECK(farthest == 0);
  }
}

TEST_CASE("greyscale files have one channel, and luminance is Pillow's") {
  for (const auto* name :
       {"grey.jpg", "grey.png", "grey_alpha.png", "black_and_white.png", "interlaced_grey.png"})
    CHECK(decode_image(bytes_of(image_bytes(name)), plenty).channels == 1);
  auto x = decode_image(bytes_of(image_bytes("base.png")), plenty);
  CHECK(x.channels == 3);
  to_luminance(x);
  CHECK(x.channels == 1);
  CHECK(std::string(x.pixels.get(), x.pixels.get() + x.bytes()) == image_bytes("luminance"));
  to_luminance(x);
  CHECK(x.bytes() == image_bytes("luminance").size());
}

TEST_CASE("files that are no images, and kinds that are not decoded, are refused by name") {
  CHECK(decode_problem("") == "is empty; it must be a JPEG, PNG or WebP file");
  for (const std::string& file : {std::string("hello"), image_bytes("refused/image.gif"),
                                  std::string(100, '\0'), std::string("RIFF1234WAVE")}) {
    CHECK(decode_problem(file) == "does not begin like a JPEG, PNG or WebP file");
    CHECK_FALSE(is_image_file(file));
  }
  CHECK(decode_problem(image_bytes("refused/grey_16_bits.png")) ==
        "is a PNG of 16-bit greyscale; convert it to 8 bits, which this model takes");
  CHECK(decode_problem(image_bytes("refused/animated.webp")) ==
        "is an animated WebP; send one frame, as a JPEG, PNG or WebP file");
}

TEST_CASE("images with too many pixels are refused before they take memory") {
  CHECK(decode_problem(image_bytes("refused/60000x60000.png"), 32 << 20) ==
        "is a PNG of 60000 x 60000 = 3600000000 pixels, more than preprocess.max_pixels = 33554432");
  CHECK(decode_problem(image_bytes("refused/16383x16383.webp"), 32 << 20) ==
        "is a WebP of 16383 x 16383 = 268402689 pixels, more than preprocess.max_pixels = 33554432");
  CHECK(decode_problem(image_bytes("refused/65500x65500.jpg"), 32 << 20) ==
        "is a JPEG of 65500 x 65500 = 4290250000 pixels, more than preprocess.max_pixels = 33554432");
  CHECK(decode_problem(image_bytes("refused/100000x1.png"), 32 << 20) ==
        "is a PNG of 100000 x 1 pixels; at most 65535 a side are decoded");
  CHECK(decode_problem(image_bytes("base.png"), 45 * 31) == "");
  CHECK(decode_problem(image_bytes("base.png"), 45 * 31 - 1) ==
        "is a PNG of 45 x 31 = 1395 pixels, more than preprocess.max_pixels = 1394");
}

TEST_CASE("a file that is cut short anywhere is refused") {
  for (const auto& [name, width, height] : listed_images()) {
    CAPTURE(name);
    const auto whole = image_bytes(name);
    // bytes behind the pixels do not count: the end of the image, checksums and padding
    for (size_t n = 0; n + 20 < whole.size(); n += n < 200 ? 1 : 13) {
      CAPTURE(n);
      CHECK(decode_problem(whole.substr(0, n)) != "");
    }
  }
  const auto half = [](const char* name) {
    const auto file = image_bytes(name);
    return decode_problem(file.substr(0, file.size() / 2));
  };
  CHECK(half("baseline.jpg") == "is cut short (JPEG)");
  CHECK(half("progressive.jpg") == "is cut short (JPEG)");
  CHECK(half("base.png") == "is cut short (PNG)");
  CHECK(half("lossy.webp") == "is cut short or corrupt (WebP)");
}

TEST_CASE("corrupt files are refused, or decode to some pixels") {
  size_t refused = 0, all = 0;
  for (const auto& [name, width, height] : listed_images()) {
    const auto whole = image_bytes(name);
    for (size_t at = 0; at < whole.size(); at += 7) {
      auto file = whole;
      file[at] = static_cast<char>(file[at] ^ (at % 2 == 0 ? 0xff : 0x10));
      refused += !decode_problem(file).empty();
      ++all;
    }
  }
  CHECK(refused > all / 4);
  auto file = image_bytes("baseline.jpg");
  file[file.find("\xff\xda") + 40] = '\xff';
  CHECK(decode_problem(file).find("is no JPEG that can be decoded: Corrupt JPEG data") == 0);
  file = image_bytes("base.png");
  file[file.find("IDAT") + 30] ^= 1;
  CHECK(decode_problem(file).find("is no PNG that can be decoded: ") == 0);
}

TEST_CASE("a JPEG with hundreds of scans is refused") {
  using namespace std::string_literals;
  const auto grey = image_bytes("grey.jpg");
  const auto frame = grey.find("\xff\xc0"s), tables = frame + 13, scan = grey.find("\xff\xda"s);
  const auto data = grey.substr(scan + 10, grey.size() - 2 - (scan + 10));
  // three components in one scan each, all with the values of the grey one
  auto head = grey.substr(0, frame) + "\xff\xc0\0\x11"s + grey.substr(frame + 4, 5) +
              "\x03\x01\x11\0\x02\x11\0\x03\x11\0"s + grey.substr(tables, scan - tables);
  const auto with_scans = [&](int n) {
    auto out = head;
    for (int i = 0; i < n; ++i)
      out += "\xff\xda\0\x08\x01"s + static_cast<char>(1 + i % 3) + "\0\0\x3f\0"s + data;
    return out + "\xff\xd9"s;
  };
  CHECK(decode_problem(with_scans(3)) == "");
  CHECK(decode_problem(with_scans(10)) == "");
  CHECK(decode_problem(with_scans(300)) == "has more than 20 scans (JPEG)");
}
