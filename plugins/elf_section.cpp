#include "plugins/elf_section.hpp"

#include <elf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

namespace troupe {
namespace {

constexpr uint64_t largest_section = 1 << 20;  // bytes; section names and descriptors are smaller

#ifdef __aarch64__
constexpr auto this_machine = EM_AARCH64;
#else
constexpr auto this_machine = EM_X86_64;
#endif

template <class T>
std::optional<T> read_at(std::istream& in, uint64_t offset) {
  T out;
  in.clear();
  in.seekg(static_cast<std::streamoff>(offset));
  if (!in.read(reinterpret_cast<char*>(&out), sizeof out)) return {};
  return out;
}

std::optional<std::vector<std::byte>> contents(std::istream& in, const Elf64_Shdr& section) {
  if (section.sh_type == SHT_NOBITS || section.sh_size > largest_section) return {};
  std::vector<std::byte> out(section.sh_size);
  in.clear();
  in.seekg(static_cast<std::streamoff>(section.sh_offset));
  if (!in.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()))) return {};
  return out;
}

}  // namespace

elf_section read_elf_section(const std::filesystem::path& file, std::string_view name) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file, failed))
    return {{}, failed ? "cannot be read: " + failed.message() : "is not a file"};
  std::ifstream in(file, std::ios::binary);
  if (!in) return {{}, std::string("cannot be read: ") + std::strerror(errno)};
  const elf_section no_library{{}, "is not a shared library of this machine"};
  const auto header = read_at<Elf64_Ehdr>(in, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_DYN ||
      header->e_machine != this_machine || header->e_shentsize != sizeof(Elf64_Shdr))
    return no_library;

  const auto section = [&](uint64_t i) {
    return read_at<Elf64_Shdr>(in, header->e_shoff + i * sizeof(Elf64_Shdr));
  };
  const auto names_section = section(header->e_shstrndx);
  const auto names = names_section ? contents(in, *names_section) : std::nullopt;
  if (!names) return no_library;
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto s = section(i);
    if (!s || s->sh_name >= names->size()) continue;
    const auto* begin = reinterpret_cast<const char*>(names->data()) + s->sh_name;
    const auto* end = reinterpret_cast<const char*>(names->data()) + names->size();
    if (std::string_view(begin, std::find(begin, end, '\0')) != name) continue;
    if (auto bytes = contents(in, *s)) return {std::move(*bytes), {}};
    return no_library;
  }
  return {{}, "is not a plug-in of Troupe: it has no TROUPE_PLUGIN"};
}

}  // namespace troupe
