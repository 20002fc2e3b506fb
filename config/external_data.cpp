#include "config/external_data.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>

#include "config/text_file.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr int max_depth = 100;  // of messages, as protobuf's parser has it
constexpr uint64_t max_place_bytes = 4096;

/// Messages of onnx.proto on the way to a tensor.
enum class part { model, function, graph, node, attribute, tensor, sparse_tensor, other };

/// The message in a field of `of`, by the field's number.
part part_in(part of, uint64_t field) {
  switch (of) {
    case part::model: return field == 7 ? part::graph : field == 25 ? part::function : part::other;
    case part::function: return field == 7 ? part::node : field == 11 ? part::attribute : part::other;
    case part::graph:
      return field == 1    ? part::node
             : field == 5  ? part::tensor
             : field == 15 ? part::sparse_tensor
                           : part::other;
    case part::node: return field == 5 ? part::attribute : part::other;
    case part::attribute:
      if (field == 5 || field == 10) return part::tensor;
      if (field == 6 || field == 11) return part::graph;
      return field == 22 || field == 23 ? part::sparse_tensor : part::other;
    case part::sparse_tensor: return field == 1 || field == 2 ? part::tensor : part::other;
    case part::tensor:
    case part::other: break;
  }
  return part::other;
}

constexpr uint64_t external_data_field = 13;  // of a tensor: pairs of key (1) and value (2)

class wire_walk {
 public:
  explicit wire_walk(const fs::path& file) : in_(file, std::ios::binary) {}

  std::set<std::string> take_places(uint64_t size) {
    walk(part::model, size, 0);
    return std::move(places_);
  }

 private:
  struct field {
    uint64_t number = 0;
    uint64_t length = 0;    ///< of its bytes
    bool is_bytes = false;  ///< else a number
  };

  /// False: the file is damaged, or ends.
  bool walk(part of, uint64_t end, int depth) {
    if (depth > max_depth) return false;
    while (at_ < end) {
      const auto f = next_field();
      if (!f || f->length > end - std::min(at_, end)) return false;
      const auto after = at_ + f->length;
      const auto inner = f->is_bytes ? part_in(of, f->number) : part::other;
      if (of == part::tensor && f->is_bytes && f->number == external_data_field) {
        if (!read_entry(after)) return false;
      } else if (inner != part::other) {
        if (!walk(inner, after, depth + 1)) return false;
      } else {
        skip(f->length);
      }
      if (at_ != after) return false;
    }
    return at_ == end;
  }

  bool read_entry(uint64_t end) {
    std::string key, value;
    while (at_ < end) {
      const auto f = next_field();
      if (!f || f->length > end - std::min(at_, end)) return false;
      const bool taken = f->is_bytes && f->length <= max_place_bytes && (f->number == 1 || f->number == 2);
      if (!taken) {
        skip(f->length);
        continue;
      }
      auto& text = f->number == 1 ? key : value;
      text.resize(f->length);
      in_.read(text.data(), static_cast<std::streamsize>(text.size()));
      at_ += f->length;
    }
    const fs::path place(value);
    const bool inside = place.is_relative() && std::ranges::find(place, fs::path("..")) == place.end();
    if (key == "location" && !value.empty() && inside && value.find('\0') == std::string::npos)
      places_.insert(place.lexically_normal().string());
    return at_ == end && in_.good();
  }

  std::optional<field> next_field() {
    const auto tag = varint();
    if (!tag) return {};
    field f{*tag >> 3};
    switch (*tag & 7) {
      case 0:
        if (!varint()) return {};
        return f;
      case 1: f.length = 8; return f;
      case 2:
        if (const auto length = varint(); length) {
          f.is_bytes = true;
          f.length = *length;
          return f;
        }
        return {};
      case 5: f.length = 4; return f;
      default: return {};
    }
  }

  std::optional<uint64_t> varint() {
    uint64_t x = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const int byte = in_.get();
      if (byte == std::ifstream::traits_type::eof()) return {};
      ++at_;
      x |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return x;
    }
    return {};
  }

  void skip(uint64_t bytes) {
    constexpr uint64_t far = 1 << 14;  // a seek drops what is read ahead
    if (bytes < far)
      in_.ignore(static_cast<std::streamsize>(bytes));
    else
      in_.seekg(static_cast<std::streamoff>(bytes), std::ios::cur);
    at_ += bytes;
  }

  std::ifstream in_;
  uint64_t at_ = 0;
  std::set<std::string> places_;
};

}  // namespace

std::set<std::string> external_data_of(const fs::path& onnx_file) {
  std::error_code failed;
  const auto size = fs::file_size(onnx_file, failed);
  if (failed) return {};
  return wire_walk(onnx_file).take_places(size);
}

std::string external_fingerprints(const fs::path& onnx_file) {
  std::string out;
  for (const auto& place : external_data_of(onnx_file)) {
    const auto print = fingerprint_of(onnx_file.parent_path() / place, std::numeric_limits<uint64_t>::max());
    out += " " + place + "=" + (print.error.empty() ? print.content : print.error);
  }
  return out;
}

}  // namespace troupe
