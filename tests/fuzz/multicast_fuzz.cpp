// Reading any bytes as the description of a multicast gives a valid problem or a message.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "config/multicast_file.hpp"

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto p = read_multicast(std::string_view(reinterpret_cast<const char*>(data), size));
    if (p.nodes.size() <= p.sources || p.gbit_per_s.size() != p.nodes.size() * p.nodes.size()) std::abort();
  } catch (const multicast_file_error& e) {
    if (std::string(e.what()).empty()) std::abort();
  }
  return 0;
}
