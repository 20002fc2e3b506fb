// Reading any bytes as a trace of generation requests gives a trace or a message with a line; a trace is the
// same after writing and reading.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "tools/load/llm_trace.hpp"

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  try {
    const auto trace = read_llm_trace(in, "trace", 1000);
    std::string again;
    duration last{};
    for (const auto& row : trace.rows) {
      if (row.at < last || row.prompt_tokens == 0 || row.output_tokens == 0) std::abort();
      last = row.at;
      again += to_mooncake(row) + "\n";
    }
    std::istringstream written(again);
    if (read_llm_trace(written, "again", 1000).rows.size() != trace.rows.size()) std::abort();
  } catch (const llm_trace_error& e) {
    if (std::string(e.what()).empty()) std::abort();
  }
  return 0;
}
