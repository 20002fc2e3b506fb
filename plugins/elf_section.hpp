// Sections of ELF files, for the descriptors of plug-ins.
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct elf_section {
  std::vector<std::byte> bytes;
  std::string error;  ///< "is not a shared library of this machine"; empty: found
};

/// Reads a section of a 64-bit ELF shared library from the file, without loading the library. The file may
/// contain any bytes.
elf_section read_elf_section(const std::filesystem::path& file, std::string_view name);

}  // namespace troupe
