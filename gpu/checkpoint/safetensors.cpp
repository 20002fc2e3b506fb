#include "gpu/checkpoint/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "gpu/checkpoint/safetensors_header.hpp"
#include "gpu/checkpoint/shown_name.hpp"
#include "gpu/common/model_error.hpp"

namespace troupe::llm {

namespace {

constexpr uint64_t longest_header = 100'000'000;  // limit of the format's own reader

std::optional<uint64_t> bits_of(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, uint64_t>, 22> table{{
      {"BOOL", 8},  {"U8", 8},      {"I8", 8},          {"F8_E5M2", 8},     {"F8_E4M3", 8}, {"F8_E8M0", 8},
      {"F4", 4},    {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"I16", 16},        {"U16", 16},    {"F16", 16},
      {"BF16", 16}, {"I32", 32},    {"U32", 32},        {"F32", 32},        {"I64", 64},    {"U64", 64},
      {"F64", 64},  {"C64", 64},    {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
  }};
  const auto found = std::ranges::find(table, type, &std::pair<std::string_view, uint64_t>::first);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

/// None on overflow of 64 bits, or if the bits are not whole bytes.
std::optional<uint64_t> byte_count(const std::vector<uint64_t>& shape, uint64_t bits) {
  uint64_t product = 1;
  for (const uint64_t d : shape) {
    if (__builtin_mul_overflow(product, d, &product)) return std::nullopt;
  }
  if (__builtin_mul_overflow(product, bits, &product) || product % 8 != 0) return std::nullopt;
  return product / 8;
}

}  // namespace

safetensors::safetensors(const std::filesystem::path& file) : name_(file.string()), file_(file) {
  parse(file_.bytes());
}

safetensors::safetensors(std::span<const std::byte> bytes, std::string name) : name_(std::move(name)) {
  parse(bytes);
}

const stored_tensor* safetensors::find(std::string_view tensor) const {
  const auto found = tensors_.find(tensor);
  return found == tensors_.end() ? nullptr : &found->second;
}

void safetensors::parse(std::span<const std::byte> bytes) {
  const auto fail = [&](const std::string& what) { throw model_error(fmt::format("{}: {}", name_, what)); };
  constexpr size_t prefix = 8;
  if (bytes.size() < prefix) {
    fail(fmt::format("has {} bytes and is not a safetensors file (damaged or truncated)", bytes.size()));
  }
  uint64_t length = 0;
  for (size_t i = prefix; i-- > 0;) length = length << 8 | std::to_integer<uint64_t>(bytes[i]);
  if (length > longest_header) {
    fail(fmt::format("a header of {} bytes is more than a safetensors file may have ({})", length,
                     longest_header));
  }
  if (length > bytes.size() - prefix) {
    fail(fmt::format("the header needs {} bytes, the file has {} more (truncated: fetch it again)", length,
                     bytes.size() - prefix));
  }
  const std::string_view header{reinterpret_cast<const char*>(bytes.data()) + prefix, length};
  if (!header.starts_with('{')) fail("the header does not begin with '{': not a safetensors file");
  auto entries = parse_safetensors_header(header, name_);
  const auto data = bytes.subspan(prefix + length);

  using entry = std::pair<const std::string, header_entry>;
  std::vector<const entry*> order;
  order.reserve(entries.size());
  for (const auto& e : entries) order.push_back(&e);
  std::ranges::sort(order, {}, [](const entry* e) { return std::pair(e->second.begin, e->second.end); });

  uint64_t covered = 0;
  for (const auto* e : order) {
    const auto& [type, shape, begin, end] = e->second;
    const auto where = [&] { return "tensor " + shown_name(e->first); };
    if (end < begin) fail(fmt::format("{} ends at {}, before its begin at {}", where(), end, begin));
    if (end > data.size()) {
      fail(fmt::format("{} ends at byte {} of {} (truncated: fetch the file again)", where(), end,
                       data.size()));
    }
    if (begin < covered) fail(fmt::format("{} begins at {}, within the one before it", where(), begin));
    if (begin > covered)
      fail(fmt::format("bytes {} to {} before {} belong to no tensor", covered, begin, where()));
    if (const auto bits = bits_of(type)) {
      const auto needed = byte_count(shape, *bits);
      if (!needed) fail(fmt::format("{} has an impossible shape", where()));
      if (*needed != end - begin) {
        fail(fmt::format("{} holds {} bytes where its shape needs {}", where(), end - begin, *needed));
      }
    }
    covered = end;
  }
  if (covered != data.size())
    fail(fmt::format("the last {} bytes belong to no tensor", data.size() - covered));

  for (auto& [name, e] : entries) {
    tensors_.emplace_hint(
        tensors_.end(), name,
        stored_tensor{std::move(e.type), std::move(e.shape), data.subspan(e.begin, e.end - e.begin)});
  }
}

}  // namespace troupe::llm
