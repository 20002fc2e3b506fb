#include "tools/node/disk_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include "config/external_data.hpp"
#include "gpu/checkpoint/encoder_folder.hpp"
#include "gpu/common/fast_hash.hpp"
#include "gpu/common/model_error.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

/// Adds an ONNX file and its external data by their names in `folder`.
void add_onnx_file(const fs::path& file, const fs::path& folder, std::set<std::string>& names) {
  names.insert(file.lexically_relative(folder).generic_string());
  for (const auto& place : external_data_of(file))
    names.insert((file.parent_path() / place).lexically_relative(folder).generic_string());
}

std::set<std::string> names_in_encoder_folder(const fs::path& folder) {
  std::set<std::string> out;
  const auto network = encoder_onnx_file(folder);
  if (!network.empty()) add_onnx_file(network, folder, out);
  const auto add_from = [&](const fs::path& place) {
    for (const auto& entry : fs::directory_iterator(place)) {
      const auto type = entry.path().extension();
      const bool is_text = type == ".json" || type == ".txt";
      const bool is_weight = network.empty() && place == folder && type == ".safetensors";
      if (entry.is_regular_file() && (is_text || is_weight))
        out.insert(entry.path().lexically_relative(folder).generic_string());
    }
  };
  add_from(folder);
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) add_from(entry.path());
  return out;
}

fs::path folder_of(const fs::path& source) {
  std::error_code failed;
  return fs::is_directory(source, failed) ? source : source.parent_path();
}

}  // namespace

model_file_list list_model_files(const fs::path& source) {
  try {
    const auto folder = folder_of(source);
    std::set<std::string> names;
    model_file_list out;
    if (folder == source) {
      names = names_in_encoder_folder(folder);
    } else {
      out.opened = source.filename().string();
      add_onnx_file(source, folder, names);
    }
    for (const auto& n : names) out.files.push_back({n, fs::file_size(folder / n)});
    return out;
  } catch (const fs::filesystem_error& e) {
    throw model_error(fmt::format("{}: {}", e.path1().string(), e.code().message()));
  }
}

disk_files::disk_files(const fs::path& source)
    : folder_(folder_of(source)), list_(list_model_files(source)), layout_(list_) {}

bool disk_files::read_next(llm::image_set& images) {
  if (!std::exchange(checked_, true)) check_ready(images);
  if (images.complete()) return false;
  const auto sealed_from = bytes() - packed_seal_bytes;
  const auto next = images.chunks_ready();
  const auto read_chunk = [&](uint32_t c) { read(images.offset_of(c), images.chunk_memory(c)); };
  const auto end_of = [&](uint32_t c) { return images.offset_of(c) + images.chunks()[c].bytes; };
  if (end_of(next) <= sealed_from) {
    if (!images.make_present(next)) return false;
    read_chunk(next);
    images.finish_chunk(fast_hash(images.chunk_memory(next)));
    return true;
  }
  for (auto c = next; c < images.chunks().size(); ++c) {
    if (!images.make_present(c)) return false;
    read_chunk(c);
  }
  const auto whole = images.memory(0);
  const auto seal = packed_seal(whole.first(sealed_from));
  const auto* seal_bytes = reinterpret_cast<const std::byte*>(&seal);
  for (auto c = next; c < images.chunks().size(); ++c) {
    for (auto at = std::max(images.offset_of(c), sealed_from); at < end_of(c); ++at)
      whole[at] = seal_bytes[at - sealed_from];
    images.finish_chunk(fast_hash(images.chunk_memory(c)));
  }
  return true;
}

/// Files that differ would make a mixture.
void disk_files::check_ready(llm::image_set& images) const {
  std::vector<std::byte> own;
  const auto sealed_from = bytes() - packed_seal_bytes;
  for (uint32_t c = 0; c < images.chunks_ready(); ++c) {
    const auto theirs = images.chunk_memory(c);
    own.resize(theirs.size());
    read(images.offset_of(c), own);
    const auto without_seal =
        std::min<uint64_t>(own.size(), sealed_from - std::min(sealed_from, images.offset_of(c)));
    if (!std::equal(own.begin(), own.begin() + static_cast<int64_t>(without_seal), theirs.begin()))
      throw model_error(
          fmt::format("{}: is not what other nodes have: copy the same files to all", folder_.string()));
  }
}

void disk_files::read(uint64_t at, std::span<std::byte> to) const {
  std::ranges::fill(to, std::byte{});
  const auto part = [&](uint64_t begin, uint64_t size, auto&& copy) {
    const auto first = std::max(at, begin), end = std::min(at + to.size(), begin + size);
    if (first < end) copy(first - begin, to.subspan(first - at, end - first));
  };
  part(0, layout_.head().size(), [&](uint64_t from, std::span<std::byte> into) {
    std::ranges::copy(layout_.head().subspan(from, into.size()), into.begin());
  });
  for (size_t i = 0; i < list_.files.size(); ++i)
    part(layout_.offset_of(i), list_.files[i].bytes,
         [&](uint64_t from, std::span<std::byte> into) { read_file(i, from, into); });
}

void disk_files::read_file(size_t file, uint64_t at, std::span<std::byte> to) const {
  const auto path = folder_ / list_.files[file].name;
  std::ifstream in(path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(at));
  in.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
  if (!in || static_cast<size_t>(in.gcount()) != to.size())
    throw model_error(fmt::format("{}: cannot be read, or has changed meanwhile", path.string()));
}

}  // namespace troupe
