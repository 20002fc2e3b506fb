#include <algorithm>
#include <cstring>
#include <type_traits>

#include "gpu/kernels/dense.hpp"

namespace troupe::kernels {

namespace {

constexpr size_t panel_width = packed_weights::panel_outputs;

/// Position of output c of a panel's 32 and input k among the panel's numbers.
size_t place(element type, size_t c, size_t k) {
  return type == element::bf16 ? (k / 2 * panel_width + c) * 2 + k % 2 : k * panel_width + c;
}

/// Four 32-bit words.
using words = uint32_t __attribute__((vector_size(16)));

words load(const void* from) {
  words w;
  std::memcpy(&w, from, sizeof w);
  return w;
}

/// Transposes 4 rows of 4 words.
void transpose(const std::byte* rows, size_t row_bytes, uint32_t* to) {
  const words a = load(rows), b = load(rows + row_bytes), c = load(rows + 2 * row_bytes),
              d = load(rows + 3 * row_bytes);
  const words ab_low = __builtin_shuffle(a, b, words{0, 4, 1, 5}),
              cd_low = __builtin_shuffle(c, d, words{0, 4, 1, 5});
  const words ab_high = __builtin_shuffle(a, b, words{2, 6, 3, 7}),
              cd_high = __builtin_shuffle(c, d, words{2, 6, 3, 7});
  const words out[] = {__builtin_shuffle(ab_low, cd_low, words{0, 1, 4, 5}),
                       __builtin_shuffle(ab_low, cd_low, words{2, 3, 6, 7}),
                       __builtin_shuffle(ab_high, cd_high, words{0, 1, 4, 5}),
                       __builtin_shuffle(ab_high, cd_high, words{2, 3, 6, 7})};
  for (size_t k = 0; k < 4; ++k) std::memcpy(to + k * panel_width, &out[k], sizeof out[k]);
}

/// Columns of a panel from rows of words: [count][n] to [n][32].
void transpose_words(const std::byte* rows, size_t row_bytes, size_t count, size_t n, uint32_t* to) {
  const size_t whole_count = count / 4 * 4, whole_n = n / 4 * 4;
  const auto one_by_one = [&](size_t c, size_t k) {
    std::memcpy(to + k * panel_width + c, rows + c * row_bytes + k * 4, 4);
  };
  for (size_t k = 0; k < whole_n; k += 4) {
    for (size_t c = 0; c < whole_count; c += 4)
      transpose(rows + c * row_bytes + k * 4, row_bytes, to + k * panel_width + c);
    for (size_t c = whole_count; c < count; ++c)
      for (size_t i = k; i < k + 4; ++i) one_by_one(c, i);
  }
  for (size_t k = whole_n; k < n; ++k)
    for (size_t c = 0; c < count; ++c) one_by_one(c, k);
}

/// Inputs that are converted and transposed at a time, so that they stay in the first cache.
constexpr size_t converted_inputs = 64;

/// Columns of a panel from rows of its own type. `inputs` is even for pairs, unless it is their end.
template <class To>
void transpose_tile(const To* rows, size_t in, size_t count, size_t inputs, To* panel) {
  const auto* bytes = reinterpret_cast<const std::byte*>(rows);
  if constexpr (sizeof(To) == 4) {
    transpose_words(bytes, in * sizeof(To), count, inputs, reinterpret_cast<uint32_t*>(panel));
  } else if constexpr (std::is_same_v<To, bfloat>) {
    transpose_words(bytes, in * sizeof(To), count, inputs / 2, reinterpret_cast<uint32_t*>(panel));
    if (inputs % 2 != 0)
      for (size_t c = 0; c < count; ++c)
        panel[place(element::bf16, c, inputs - 1)] = rows[c * in + inputs - 1];
  } else {
    for (size_t c = 0; c < count; ++c)
      for (size_t k = 0; k < inputs; ++k) panel[k * panel_width + c] = rows[c * in + k];
  }
}

/// Columns of a panel from rows of a matrix.
template <class To, class From>
void pack_columns(const From* rows, size_t count, size_t in, To* panel) {
  for (size_t from = 0; from < in; from += converted_inputs) {
    const size_t inputs = std::min(in - from, converted_inputs);
    To* to = panel + from * panel_width;
    if constexpr (std::is_same_v<To, From>) {
      transpose_tile(rows + from, in, count, inputs, to);
    } else {
      To tile[panel_width * converted_inputs];
      for (size_t c = 0; c < count; ++c)
        for (size_t k = 0; k < inputs; ++k)
          tile[c * inputs + k] = To(static_cast<float>(rows[c * in + from + k]));
      transpose_tile(tile, inputs, count, inputs, to);
    }
  }
}

/// `first`: the panel's column of the first row.
template <class To>
void pack_columns(const weight_rows& part, size_t first_row, size_t count, size_t in, size_t first,
                  To* panel) {
  // Columns are words, or pairs of numbers, or single ones.
  To* column = panel + place(std::is_same_v<To, bfloat> ? element::bf16 : element::f32, first, 0);
  const auto with = [&](const auto* numbers) { pack_columns(numbers + first_row * in, count, in, column); };
  switch (part.type) {
    case element::f16: return with(static_cast<const half*>(part.weights));
    case element::bf16: return with(static_cast<const bfloat*>(part.weights));
    default: return with(static_cast<const float*>(part.weights));
  }
}

template <class To>
void pack_panel(std::span<const weight_rows> parts, size_t first, size_t in, size_t numbers, To* panel) {
  size_t row = 0, column = 0;  // of all parts; of the panel
  for (const auto& part : parts) {
    const size_t begin = std::max(first, row), end = std::min(first + panel_width, row + part.rows);
    if (begin < end) {
      pack_columns(part, begin - row, end - begin, in, column, panel);
      column += end - begin;
    }
    row += part.rows;
  }
  // Padding: inputs that the last pairs lack, and outputs that the last panel lacks.
  const size_t padded = numbers / panel_width;
  for (size_t k = 0; k < padded; ++k)
    for (size_t c = k < in ? column : 0; c < panel_width; ++c)
      panel[place(std::is_same_v<To, bfloat> ? element::bf16 : element::f32, c, k)] = To(0.0F);
}

}  // namespace

void pack(std::span<const weight_rows> parts, element type, size_t in, std::byte* panels) {
  size_t out = 0;
  for (const auto& p : parts) out += p.rows;
  const packed_weights shape(panels, type, out, in);
#pragma omp parallel for schedule(static)
  for (size_t p = 0; p < shape.panels(); ++p) {
    std::byte* panel = panels + p * shape.panel_bytes();
    const size_t first = p * panel_width, numbers = shape.padded_in() * panel_width;
    switch (type) {
      case element::f16: pack_panel(parts, first, in, numbers, reinterpret_cast<half*>(panel)); break;
      case element::bf16: pack_panel(parts, first, in, numbers, reinterpret_cast<bfloat*>(panel)); break;
      default: pack_panel(parts, first, in, numbers, reinterpret_cast<float*>(panel));
    }
  }
}

packed_weights::packed_weights(const void* weights, element from, element type, size_t out, size_t in)
    : out_(out), in_(in), type_(type) {
  own_ = aligned_bytes(bytes());
  data_ = own_.data();
  const weight_rows all{weights, from, out};
  pack({&all, 1}, type, in, own_.data());
}

float packed_weights::at(size_t output, size_t input) const {
  return element_at(panel(output / panel_outputs), type_, place(type_, output % panel_outputs, input));
}

}  // namespace troupe::kernels
