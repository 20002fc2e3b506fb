// A folder whose files are in memory, for loaders that open paths.
#pragma once
#include <filesystem>
#include <string_view>

#include "gpu/common/packed_files.hpp"

namespace troupe {

/// Private to this process. What loaders have mapped outlives the folder.
class memory_folder {
 public:
  /// Copies the files. `place`: the folder, which does not exist, in `parent()`. `written`: the time of
  /// change of the folder and its files. Throws model_error, also if the memory has no room.
  memory_folder(const unpacked_files& files, const std::filesystem::path& place,
                std::filesystem::file_time_type written);
  ~memory_folder();
  memory_folder(const memory_folder&) = delete;
  memory_folder& operator=(const memory_folder&) = delete;

  /// What loaders open.
  const std::filesystem::path& opened() const { return opened_; }

  static const std::filesystem::path& parent();
  /// Removes the folders of ended processes whose names begin like this.
  static void remove_abandoned(std::string_view prefix);

 private:
  void create();
  void add(const unpacked_files::file& file, std::filesystem::file_time_type written) const;
  void remove() noexcept;

  const std::filesystem::path place_, opened_;
  int lock_ = -1;  ///< held while the process lives
};

}  // namespace troupe
