// Reading any text as a config.pbtxt gives a configuration or problems with places in it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "config/triton/model_config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace troupe;
  const auto reading =
      triton::read_model_config({reinterpret_cast<const char*>(data), size}, "fuzz.pbtxt", "fuzz");
  for (const auto* list : {&reading.problems, &reading.ignored})
    for (const auto& p : *list)
      if (p.text.empty() || p.where.file != "fuzz.pbtxt") std::abort();
  if (!reading.problems.empty()) return 0;
  for (const auto* list : {&reading.config.inputs, &reading.config.outputs})
    for (const auto& t : *list) {
      if (t.name.empty() || t.where.line == 0) std::abort();
      for (const auto d : t.dims)
        if (d != triton::free_dimension && d < 1) std::abort();
    }
  return 0;
}
