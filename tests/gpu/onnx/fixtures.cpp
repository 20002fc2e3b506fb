#include "tests/gpu/onnx/fixtures.hpp"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/fixtures_folder.hpp"

namespace troupe::onnx {

std::string fixture_path(const std::string& name, const std::string& suffix) {
  return fixtures_folder() / "onnx" / (name + suffix);
}

std::vector<std::byte> read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(path + " cannot be read");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto bytes = std::as_bytes(std::span{text});
  return {bytes.begin(), bytes.end()};
}

fixture::fixture(const std::string& name)
    : loaded(model::load(fixture_path(name))),
      input(read_bytes(fixture_path(name, ".in.bin"))),
      output(read_bytes(fixture_path(name, ".out.bin"))),
      input_row(input_row_bytes(loaded->signature())),
      output_row(output_row_bytes(loaded->signature())),
      rows(static_cast<uint32_t>(input.size() / input_row)) {}

std::vector<std::byte> fixture::input_rows(uint32_t count) const {
  std::vector<std::byte> out;
  for (uint32_t i = 0; i < count; ++i) {
    const auto row = input.begin() + static_cast<ptrdiff_t>(i % rows * input_row);
    out.insert(out.end(), row, row + static_cast<ptrdiff_t>(input_row));
  }
  return out;
}

std::vector<float> fixture::output_rows(uint32_t count) const {
  std::vector<float> out(count * output_row / sizeof(float));
  for (uint32_t i = 0; i < count; ++i) {
    std::memcpy(reinterpret_cast<std::byte*>(out.data()) + i * output_row,
                output.data() + i % rows * output_row, output_row);
  }
  return out;
}

std::vector<float> run_rows(executor& e, const fixture& f, uint32_t rows) {
  const auto in = f.input_rows(rows);
  std::vector<float> out(rows * f.output_row / sizeof(float));
  const batch_part part{rows, in, std::as_writable_bytes(std::span{out})};
  e.run(rows, {&part, 1});
  return out;
}

double relative_l2(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (double{a[i]} - double{b[i]}) * (double{a[i]} - double{b[i]});
    norm += double{b[i]} * double{b[i]};
  }
  return std::sqrt(difference / norm);
}

}  // namespace troupe::onnx
