#include "gpu/common/packed_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>
#include <string_view>

#include "gpu/common/fast_hash.hpp"
#include "gpu/common/model_error.hpp"

namespace troupe {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view packed_magic = "troupe files 1\n";
constexpr uint64_t packed_alignment = 64;
constexpr size_t max_packed_files = 4096;
constexpr size_t max_packed_name = 1024;
constexpr uint64_t max_packed_bytes = uint64_t{1} << 60;

[[noreturn]] void refuse_packed(const std::string& why) {
  throw model_error("files of a model from another node: " + why);
}

/// Empty: it is fine.
std::string problem_of_name(std::string_view name) {
  if (name.empty() || name.size() > max_packed_name) return "a name is empty or too long";
  for (size_t at = 0; at <= name.size();) {
    const auto end = std::min(name.find('/', at), name.size());
    const auto part = name.substr(at, end - at);
    if (part.empty() || part == "." || part == ".." || part.find('\0') != std::string_view::npos)
      return "a name leads out of the folder";
    at = end + 1;
  }
  return {};
}

void check_list(const model_file_list& list) {
  if (list.files.empty() || list.files.size() > max_packed_files) refuse_packed("too few or too many");
  std::set<std::string_view> names;
  for (const auto& f : list.files) {
    if (const auto why = problem_of_name(f.name); !why.empty()) refuse_packed(why);
    if (!names.insert(f.name).second) refuse_packed("two have the same name");
  }
  if (!list.opened.empty() && !names.contains(list.opened)) refuse_packed("the one to open is missing");
}

/// False: they are more than any machine has.
bool add_up(uint64_t& sum, uint64_t bytes) {
  if (bytes > max_packed_bytes || sum > max_packed_bytes) return false;
  sum = (sum + bytes + packed_alignment - 1) / packed_alignment * packed_alignment;
  return true;
}

template <class T>
void append_number(std::vector<std::byte>& to, T x) {
  std::array<std::byte, sizeof x> bytes;
  std::memcpy(bytes.data(), &x, sizeof x);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void append_name(std::vector<std::byte>& to, std::string_view name) {
  append_number(to, static_cast<uint32_t>(name.size()));
  for (const char c : name) to.push_back(static_cast<std::byte>(c));
}

class head_reader {
 public:
  explicit head_reader(std::span<const std::byte> from) : from_(from) {}

  template <class T>
  T number() {
    T x;
    std::memcpy(&x, take(sizeof x).data(), sizeof x);
    return x;
  }
  std::string name() {
    const auto length = number<uint32_t>();
    if (length > max_packed_name) refuse_packed("a name is empty or too long");
    const auto bytes = take(length);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::span<const std::byte> take(size_t n) {
    if (n > from_.size()) refuse_packed("they are cut short");
    const auto out = from_.first(n);
    from_ = from_.subspan(n);
    return out;
  }

 private:
  std::span<const std::byte> from_;
};

}  // namespace

packed_layout::packed_layout(const model_file_list& list) {
  check_list(list);
  for (const char c : packed_magic) head_.push_back(static_cast<std::byte>(c));
  append_name(head_, list.opened);
  append_number(head_, static_cast<uint32_t>(list.files.size()));
  for (const auto& f : list.files) {
    append_name(head_, f.name);
    append_number(head_, f.bytes);
  }
  bool fits = add_up(bytes_, head_.size());
  for (const auto& f : list.files) {
    offsets_.push_back(bytes_);
    fits = fits && add_up(bytes_, f.bytes);
  }
  if (!fits || !add_up(bytes_, packed_seal_bytes)) refuse_packed("they are too large");
}

uint64_t packed_seal(std::span<const std::byte> before) { return fast_hash(before); }

unpacked_files unpack(std::span<const std::byte> packed) {
  head_reader head(packed);
  const auto magic = head.take(packed_magic.size());
  if (std::memcmp(magic.data(), packed_magic.data(), magic.size()) != 0)
    refuse_packed("they are of another version, or none");
  model_file_list list;
  list.opened = head.name();
  const auto count = head.number<uint32_t>();
  if (count > max_packed_files) refuse_packed("too few or too many");
  for (uint32_t i = 0; i < count; ++i) {
    auto name = head.name();
    list.files.push_back({std::move(name), head.number<uint64_t>()});
  }
  const packed_layout layout(list);
  if (layout.bytes() != packed.size())
    refuse_packed(fmt::format("{} bytes, and not the {} that their names and sizes take", packed.size(),
                              layout.bytes()));
  const auto body = packed.first(packed.size() - packed_seal_bytes);
  if (head_reader(packed.subspan(body.size())).number<uint64_t>() != packed_seal(body))
    refuse_packed("their seal is wrong: parts of different files were mixed, or bytes are damaged");
  unpacked_files out{list.opened, {}};
  for (size_t i = 0; i < list.files.size(); ++i)
    out.files.push_back({list.files[i].name, packed.subspan(layout.offset_of(i), list.files[i].bytes)});
  return out;
}

}  // namespace troupe
