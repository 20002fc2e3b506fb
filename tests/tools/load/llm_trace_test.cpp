#include "tools/load/llm_trace.hpp"

#include <doctest/doctest.h>

#include <sstream>

using namespace troupe;

namespace {

llm_trace read_trace(const std::string& text, uint64_t max = 100) {
  std::istringstream in(text);
  return read_llm_trace(in, "t", max);
}
std::string refused(const std::string& text, uint64_t max = 100) {
  try {
    read_trace(text, max);
  } catch (const llm_trace_error& e) {
    return e.what();
  }
  return "";
}

const std::string azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
const std::string burst = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";

}  // namespace

TEST_CASE("llm trace: Azure's traces of both years are sorted and start at zero") {
  const auto t = read_trace(azure +
                            "2023-11-16 18:15:47.5000000,374,44\r\n2023-11-16 18:15:46.2500000,396,109\r\n"
                            "2023-11-17 00:00:00.0000000,879,55\r\n");
  CHECK(t.format == "azure");
  REQUIRE(t.rows.size() == 3);
  CHECK(t.rows[0].prompt_tokens == 396);
  CHECK(t.rows[0].at == duration{});
  CHECK(t.rows[1].at == 1250ms);
  CHECK(t.rows[2].at == 5h + 44min + 13750ms);
  const auto later =
      read_trace(azure + "2024-05-10 00:00:00.009930+00:00,2162,5\n2024-05-10 00:00:01.009930+00:00,3,4\n");
  CHECK(later.rows[1].at == 1s);
}

TEST_CASE("llm trace: BurstGPT's traces of both versions, without failed requests") {
  const auto t = read_trace(
      burst +
      "5,ChatGPT,472,18,490,Conversation log\n45.5,GPT-4,417,0,417,API log\n118,GPT-4,9,8,17,API log\n");
  CHECK(t.format == "burstgpt");
  REQUIRE(t.rows.size() == 2);
  CHECK(t.without_answer == 1);
  CHECK(t.rows[1].at == 113s);
  const auto two = read_trace(
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "1,7,0.5,GPT-4,12,13,25,API log\n");
  CHECK(two.rows[0].output_tokens == 13);
}

TEST_CASE("llm trace: Mooncake's trace, with the extensions") {
  const auto t = read_trace(
      R"({"timestamp": 1000, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47], "more": 1}
{"timestamp": 2500, "input_length": 3, "output_length": 4, "hash_ids": [], "adapter": "a", "tenant": "t", "slo_ms": 12.5, "priority": -2}
)");
  CHECK(t.format == "mooncake");
  REQUIRE(t.rows.size() == 2);
  CHECK(t.rows[0].blocks == std::vector<uint64_t>{46, 47});
  CHECK(t.rows[1].at == 1500ms);
  CHECK(t.rows[1].adapter == "a");
  CHECK(t.rows[1].tenant == "t");
  CHECK(t.rows[1].slo == 12500us);
  CHECK(t.rows[1].priority == -2);
  CHECK(read_trace(to_mooncake(t.rows[0]) + "\n" + to_mooncake(t.rows[1])).rows == t.rows);
}

TEST_CASE("llm trace: a problem is reported with its line") {
  CHECK(refused("").starts_with("t:1: unknown trace format"));
  CHECK(refused("a,b,c\n").starts_with("t:1: unknown trace format"));
  CHECK(refused(azure) == "t: has no requests");
  CHECK(refused(azure + "2023-11-16 18:15:46,1\n") == "t:2: has 2 cells, the first line has 3");
  CHECK(refused(azure + "2023-13-16 18:15:46,1,1\n") ==
        "t:2: TIMESTAMP must be as 2023-11-16 18:15:46.68, not '2023-13-16 18:15:46'");
  CHECK(refused(azure + "2023-11-16 18:15:46,1,x\n") ==
        "t:2: the answer must be a number of tokens, not 'x'");
  CHECK(refused(azure + "2023-11-16 18:15:46,-1,1\n") ==
        "t:2: the prompt must be a number of tokens, not '-1'");
  CHECK(refused(burst + "nan,GPT-4,1,1,2,API log\n").starts_with("t:2: Timestamp must be seconds"));
  CHECK(refused("{}\n") == "t:1: 'timestamp' is missing");
  CHECK(refused("{\"timestamp\": 1, \"input_length\": 0, \"output_length\": 2}") ==
        "t:1: a request needs a prompt of at least one token");
  CHECK(refused("{\"timestamp\": 1, \"input_length\": \"2\", \"output_length\": 2}")
            .starts_with("t:1: 'input_length' must be a number"));
  CHECK(refused("{\"timestamp\": 1, \"input_length\": 2, \"output_length\": 2, \"hash_ids\": [-1]}")
            .find("hash_ids") != std::string::npos);
  CHECK(refused("{\"timestamp\": 1\n").starts_with("t:1: is not a JSON object"));
  CHECK(refused("{" + std::string(2 << 20, ' ')) == "t:1: is longer than 1 MiB");
  CHECK(refused(azure + "2023-11-16 18:15:46,1,1\n2023-11-16 18:15:46,1,1\n", 1) ==
        "t:3: more than 1 requests");
}
