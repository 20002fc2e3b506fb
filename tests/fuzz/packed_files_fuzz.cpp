// The packed files of a model, as they come from another node.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "gpu/common/packed_files.hpp"

namespace {

using namespace troupe;

bool leads_out(const std::string& name) {
  return name.starts_with('/') || ("/" + name + "/").find("/../") != std::string::npos;
}

/// False: they are refused.
bool read(std::span<const std::byte> packed) {
  try {
    for (const auto& f : unpack(packed).files) {
      if (leads_out(f.name)) std::abort();
      if (f.bytes.data() < packed.data() || f.bytes.data() + f.bytes.size() > packed.data() + packed.size())
        std::abort();
    }
    return true;
  } catch (const model_error&) {
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> packed(begin, begin + size);
  read(packed);
  if (size < packed_seal_bytes) return 0;
  // Mutations break the seal: the rest is to be read, too.
  const auto seal = packed_seal({packed.data(), size - packed_seal_bytes});
  std::memcpy(packed.data() + size - packed_seal_bytes, &seal, sizeof seal);
  read(packed);
  return 0;
}
