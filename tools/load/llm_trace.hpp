// Traces of generation requests in published formats, and in ours:
//
//   Azure LLM inference 2023, 2024 (CSV)  TIMESTAMP,ContextTokens,GeneratedTokens
//   BurstGPT 1.1, 2.0 (CSV)               Timestamp,[Session ID,Elapsed time,]Model,Request tokens,
//                                         Response tokens,...
//   Mooncake (JSON lines)                 timestamp (ms), input_length, output_length, hash_ids
//
// A line of Mooncake's may also have adapter, tenant, slo_ms and priority, which other readers ignore.
#pragma once
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "messages/workload/llm_trace.hpp"

namespace troupe {

/// `what()` names file, line and problem.
class llm_trace_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct llm_trace {
  std::string_view format;              ///< "azure", "burstgpt" or "mooncake"
  std::vector<traced_generation> rows;  ///< by time, the first at 0
  uint64_t without_answer = 0;  ///< skipped rows: without output tokens, which BurstGPT has for failures
};

/// Tokens of a block in Mooncake traces.
inline constexpr uint32_t trace_block_tokens = 512;

/// The first line decides the format. `max_rows` bounds the rows; a line has at most a mebibyte. Throws
/// llm_trace_error.
llm_trace read_llm_trace(std::istream& in, const std::string& name, uint64_t max_rows = 50'000'000);
llm_trace read_llm_trace_file(const std::string& path);

/// A line in Mooncake's format, with those extension keys that are not at their default.
std::string to_mooncake(const traced_generation& row);

}  // namespace troupe
