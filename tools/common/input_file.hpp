// A file of raw tensors, as `troupe infer` and `troupe load` take it.
#pragma once
#include <string>
#include <vector>

namespace troupe {

struct input_file {
  std::vector<char> bytes;
  std::string error;  ///< "cannot be read: it is a directory"; empty: it was read
};

/// All of it. Pipes are read to their end; directories and devices are refused.
input_file read_input_file(const std::string& path);

}  // namespace troupe
