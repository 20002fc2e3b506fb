// A file of raw tensors, the input of `troupe infer` and `troupe load`.
#pragma once
#include <string>
#include <vector>

namespace troupe {

struct input_file {
  std::vector<char> bytes;
  std::string error;  ///< "cannot be read: it is a directory"; empty: no error
};

/// The whole file. Pipes are read to their end; directories and devices are refused.
input_file read_input_file(const std::string& path);

}  // namespace troupe
