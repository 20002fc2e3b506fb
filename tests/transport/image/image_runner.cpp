// Makes tensors of image files for pillow_test.py:
//
//   image_runner < jobs     a line is FILTER RESIZE CROP CHANNELS LAYOUT FILE OUT, sizes as HEIGHTxWIDTH, a
//   number or
//                           -; OUT gets the 8-bit values. Prints a line for each job: ok, or the problem.
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "transport/image/image_tensor.hpp"

using namespace troupe;

namespace {

std::vector<uint32_t> size_from(const std::string& text) {
  if (text == "-") return {};
  const auto x = text.find('x');
  if (x == std::string::npos) return {static_cast<uint32_t>(std::stoul(text))};
  return {static_cast<uint32_t>(std::stoul(text)), static_cast<uint32_t>(std::stoul(text.substr(x + 1)))};
}

template <class E, size_t N>
E named(const std::string& text) {
  for (size_t i = 0; i < N; ++i)
    if (to_string(static_cast<E>(i)) == text) return static_cast<E>(i);
  throw std::runtime_error("unknown word " + text);
}

void run_job(const std::string& line) {
  std::istringstream in(line);
  std::string filter, resize, crop, channels, layout, file, out;
  in >> filter >> resize >> crop >> channels >> layout >> file >> out;
  image_input x;
  x.filter = named<image_filter, image_filter_count>(filter);
  x.resize = size_from(resize);
  x.crop = size_from(crop);
  x.channels = named<image_channels, image_channels_count>(channels);
  x.layout = named<image_layout, image_layout_count>(layout);
  std::ifstream from(file, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(from), {}};
  const image_tensor tensor(x, data_type::uint8);
  std::vector<std::byte> row(tensor.row_bytes());
  tensor.write(std::as_bytes(std::span(content)), row);
  std::ofstream(out, std::ios::binary)
      .write(reinterpret_cast<const char*>(row.data()), static_cast<std::streamsize>(row.size()));
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    try {
      run_job(line);
      std::cout << "ok" << std::endl;
    } catch (const std::exception& e) {
      std::cout << e.what() << std::endl;
    }
  }
}
