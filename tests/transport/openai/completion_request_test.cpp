#include <doctest/doctest.h>

#include "tests/transport/openai/refusal.hpp"
#include "transport/openai/base_request.hpp"

namespace troupe::openai {
namespace {

using token_list = std::vector<llm::token>;

std::string completion_with(std::string_view fields) {
  return R"({"model": "m", "prompt": "p")" + (fields.empty() ? "" : ", " + std::string(fields)) + "}";
}
std::string with_prompt(std::string_view prompt) {
  return R"({"model": "m", "prompt": )" + std::string(prompt) + "}";
}

completion_request take_completion(std::string_view fields) {
  auto r = parse_completion(completion_with(fields));
  REQUIRE_MESSAGE(r, refusal(r));
  return *r;
}
std::string refused_completion(std::string_view fields) {
  return refusal(parse_completion(completion_with(fields)));
}
std::string refused_prompt(std::string_view prompt) { return refusal(parse_completion(with_prompt(prompt))); }
std::string blamed_for(std::string_view fields) { return blamed(parse_completion(completion_with(fields))); }

TEST_CASE("a completion needs a model and a prompt, the rest has OpenAI's defaults") {
  const auto r = take_completion("");
  CHECK(r.model == "m");
  CHECK(r.prompts == std::vector<prompt>{"p"});
  CHECK(r.max_tokens == 16);
  CHECK(r.sampling == llm::sampling_params{});
  CHECK_FALSE(r.seed);
  CHECK(r.n == 1);
  CHECK(r.stop.empty());
  CHECK(r.stop_tokens.empty());
  CHECK(r.user.empty());
  CHECK(r.skip_special_tokens);
  CHECK(r.add_special_tokens);
  CHECK(r.top_logprobs == 0);
  for (const bool off : {r.stream, r.include_usage, r.logprobs, r.echo, r.ignore_eos, r.include_stop})
    CHECK(!off);
}

TEST_CASE("a completion may have a priority and targets") {
  const auto none = take_completion("");
  CHECK_FALSE(none.priority);
  CHECK_FALSE(none.ttft);
  CHECK_FALSE(none.tpot);
  const auto r = take_completion(R"("priority": -3, "ttft_ms": 250, "tpot_ms": 12.5)");
  CHECK(r.priority == -3);
  CHECK(r.ttft == 250ms);
  CHECK(r.tpot == 12500us);
  CHECK(refused_completion(R"("tpot_ms": 0)").find("tpot_ms") != std::string::npos);
}

TEST_CASE("a completion accepts every supported field of OpenAI and vLLM") {
  const auto r =
      take_completion(R"("max_tokens": 7, "temperature": 0.5, "top_p": 0.25, "top_k": 40, "min_p": 0.125,
    "repetition_penalty": 1.5, "presence_penalty": -2, "frequency_penalty": 2, "seed": 12345678901234567890,
    "logit_bias": {"50256": -100, "7": 1.5}, "stop": ["\n", "END"], "include_stop_str_in_output": true,
    "stop_token_ids": [2, 3], "ignore_eos": true, "skip_special_tokens": false, "add_special_tokens": false,
    "n": 128, "stream": true, "stream_options": {"include_usage": true}, "logprobs": 5, "user": "someone",
    "cache_salt": "s", "best_of": 128, "echo": false)");
  CHECK(r.max_tokens == 7);
  CHECK(r.sampling == llm::sampling_params{.temperature = 0.5,
                                           .top_k = 40,
                                           .top_p = 0.25,
                                           .min_p = 0.125,
                                           .repetition_penalty = 1.5,
                                           .presence_penalty = -2,
                                           .frequency_penalty = 2,
                                           .seed = 12345678901234567890u,
                                           .biases = {{7, 1.5}, {50256, -100}}});
  CHECK(r.seed == 12345678901234567890u);
  CHECK(r.stop == std::vector<std::string>{"\n", "END"});
  CHECK(r.include_stop);
  CHECK(r.stop_tokens == token_list{2, 3});
  CHECK(r.ignore_eos);
  CHECK_FALSE(r.skip_special_tokens);
  CHECK_FALSE(r.add_special_tokens);
  CHECK(r.n == 128);
  CHECK(r.stream);
  CHECK(r.include_usage);
  CHECK(r.logprobs);
  CHECK(r.top_logprobs == 5);
  CHECK(r.user == "someone");
  CHECK(r.cache_salt == "s");
  CHECK(take_completion(R"("echo": true)").echo);
}

TEST_CASE("cache_salt is a string that is not empty") {
  CHECK(take_completion("").cache_salt.empty());
  CHECK(refused_completion(R"("cache_salt": "")") ==
        "cache_salt | cache_salt: must not be empty; leave it out");
  CHECK(refused_completion(R"("cache_salt": 7)").find("| cache_salt: must be a string") != std::string::npos);
}

TEST_CASE("null is absent, unknown fields are ignored, and whole numbers may have a point") {
  const auto r = take_completion(
      R"("max_tokens": null, "temperature": null, "stop": null, "logprobs": null, "user": null,
    "stream_options": null, "suffix": null, "seed": null, "logit_bias": null, "n": 2.0, "top_k": 1e1,
    "metadata": {"a": [1, {"b": null}]}, "store": true, "": 0)");
  CHECK(r.max_tokens == 16);
  CHECK_FALSE(r.seed);
  CHECK_FALSE(r.logprobs);
  CHECK(r.n == 2);
  CHECK(r.sampling.top_k == 10);
}

TEST_CASE("a prompt is text, tokens, or a list of either") {
  const auto prompts = [](std::string_view text) {
    auto r = parse_completion(with_prompt(text));
    REQUIRE_MESSAGE(r, refusal(r));
    return r->prompts;
  };
  CHECK(prompts(R"("")") == std::vector<prompt>{""});
  CHECK(prompts(R"("Z\u00fcrich \ud83d\ude00")") == std::vector<prompt>{"Zürich 😀"});
  CHECK(prompts(R"(["a", "b"])") == std::vector<prompt>{"a", "b"});
  CHECK(prompts("[1, 2, 2147483647]") == std::vector<prompt>{token_list{1, 2, 2147483647}});
  CHECK(prompts("[[1], [2, 3]]") == std::vector<prompt>{token_list{1}, token_list{2, 3}});
  CHECK(prompts(R"(["a", [1]])") == std::vector<prompt>{"a", token_list{1}});

  CHECK(refused_prompt("[]") == "prompt | prompt: must not be empty");
  CHECK(refused_prompt("[[1], []]") == "prompt[1] | prompt[1]: has no tokens");
  CHECK(refused_prompt("{}") ==
        "prompt | prompt: must be a string, a list of tokens, or a list of these, it is {}");
  CHECK(refused_prompt(R"([1, "a"])") ==
        R"(prompt[1] | prompt[1]: must be a token, like the elements before it, it is "a")");
  CHECK(refused_prompt(R"(["a", 1])") ==
        "prompt[1] | prompt[1]: must be a string or a list of tokens, like the elements before it, it is 1");
  CHECK(refused_prompt("[[1, [2]]]")
            .starts_with("prompt[0][1] | prompt[0][1]: must be a whole number from 0 to"));
  CHECK(refused_prompt("[-1]").starts_with(
      "prompt[0] | prompt[0]: must be a whole number from 0 to 2147483647"));
  CHECK(refused_prompt("[2147483648]").ends_with("it is 2147483648"));
  CHECK(refused_prompt("[1.5]").ends_with("it is 1.5"));
  CHECK(refused_prompt("[null]").ends_with("it is null"));
  CHECK(refused_prompt("null") == "prompt | prompt: is missing");

  const auto many = [](size_t n, std::string_view one) {
    std::string all = "[";
    for (size_t i = 0; i < n; ++i) all += (i ? "," : "") + std::string(one);
    return all + "]";
  };
  CHECK(prompts(many(128, R"("a")")).size() == 128);
  CHECK(refused_prompt(many(129, R"("a")")) == "prompt | prompt: has more than 128 prompts");
  CHECK(refused_prompt(many(129, "[1]")) == "prompt | prompt: has more than 128 prompts");
  CHECK(std::get<token_list>(prompts(many(100'000, "9"))[0]).size() == 100'000);
}

TEST_CASE("numbers beyond their bounds are refused, with the field and its bounds") {
  CHECK(refused_completion(R"("temperature": 2.5)") ==
        "temperature | temperature: must be a number from 0 to 2, it is 2.5");
  CHECK(refused_completion(R"("temperature": "hot")") ==
        R"(temperature | temperature: must be a number from 0 to 2, it is "hot")");
  for (const auto& [field, values] : std::initializer_list<std::pair<std::string, std::vector<std::string>>>{
           {"temperature", {"-0.1", "1e999", "true", "[]", "NaN", "Infinity", "-Infinity", "--1", "1."}},
           {"top_p", {"0", "-1", "1.01", "1e400"}},
           {"top_k", {"-2", "0.5", "2147483648", "99999999999999999999"}},
           {"min_p", {"-0.1", "1.1"}},
           {"repetition_penalty", {"0", "-1", "101", "1e-40"}},
           {"presence_penalty", {"-2.1", "2.1"}},
           {"frequency_penalty", {"-2.1", "2.1"}},
           {"seed", {"0.5", "18446744073709551616", "-9223372036854775809", "1e30", "\"1\""}},
           {"max_tokens", {"0", "-1", "2147483648", "1e10", "\"5\"", "1.5"}},
           {"n", {"0", "129", "-1", "true"}},
           {"best_of", {"2", "0"}},
           {"logprobs", {"-1", "21", "true"}},
           {"echo", {"1", "\"yes\"", "nul"}},
           {"stream", {"1", "tru"}},
           {"ignore_eos", {"0"}},
           {"skip_special_tokens", {"0"}},
           {"include_stop_str_in_output", {"0"}},
           {"model", {"1"}},
           {"user", {"1", "\"" + std::string(1025, 'x') + "\""}}})
    for (const auto& value : values) {
      const auto body = R"({"prompt": "p", ")" + field + R"(": )" + value + "}";
      CHECK_MESSAGE(blamed(parse_completion(body)) == (field == "best_of" && value == "2" ? "model" : field),
                    body);
    }
  CHECK(blamed_for(R"("best_of": 2)") == "best_of");
  CHECK(take_completion(R"("temperature": 1e-6)").sampling.temperature == 0);
  CHECK(take_completion(R"("temperature": -0.0)").sampling.temperature == 0);
  CHECK(take_completion(R"("top_k": -1)").sampling.top_k == 0);
  CHECK(take_completion(R"("top_p": 1e-300)").sampling.top_p > 0);
  CHECK(take_completion(R"("seed": -1)").seed == ~uint64_t{0});
}

TEST_CASE("stop strings are one or a few, and never empty") {
  CHECK(take_completion(R"("stop": "x")").stop == std::vector<std::string>{"x"});
  CHECK(take_completion(R"("stop": [])").stop.empty());
  CHECK(refused_completion(R"("stop": "")") == "stop | stop: must not be empty");
  CHECK(refused_completion(R"("stop": ["a", ""])") == "stop[1] | stop[1]: must not be empty");
  CHECK(refused_completion(R"("stop": ["a", 1])") == "stop[1] | stop[1]: must be a string, it is 1");
  CHECK(refused_completion(R"("stop": 1)") == "stop | stop: must be a string or a list of strings, it is 1");
  CHECK(take_completion(R"("stop": [)" + std::string(R"("a",)") + R"("b"])").stop.size() == 2);
  std::string many = R"("stop": ["0")";
  for (int i = 1; i < 16; ++i) many += R"(,"x")";
  CHECK(take_completion(many + "]").stop.size() == 16);
  CHECK(refused_completion(many + R"(,"y"])") == "stop | stop: has more than 16 elements");
  CHECK(take_completion(R"("stop": ")" + std::string(1024, 'x') + '"').stop[0].size() == 1024);
  CHECK(refused_completion(R"("stop": ")" + std::string(1025, 'x') + '"') ==
        "stop | stop: has 1025 bytes; at most 1024 are allowed");
  CHECK(blamed_for(R"("stop_token_ids": [1, -1])") == "stop_token_ids[1]");
  CHECK(blamed_for(R"("stop_token_ids": 1)") == "stop_token_ids");
}

TEST_CASE("logit_bias has distinct token ids, and its values and size are bounded") {
  CHECK(take_completion(R"("logit_bias": {})").sampling.biases.empty());
  CHECK(refused_completion(R"("logit_bias": {"a": 1})") ==
        R"(logit_bias | logit_bias: its keys must be token ids; "a" is not)");
  for (const char* key : {"-1", "", "2147483648", "1.0", "+1", " 1", "1 "})
    CHECK(blamed_for(R"("logit_bias": {")" + std::string(key) + R"(": 1})") == "logit_bias");
  CHECK(refused_completion(R"("logit_bias": {"1": 1, "01": 2})") ==
        "logit_bias | logit_bias: token 1 is given twice");
  CHECK(refused_completion(R"("logit_bias": {"12": 101})") ==
        "logit_bias.12 | logit_bias.12: must be a number from -100 to 100, it is 101");
  CHECK(blamed_for(R"("logit_bias": {"1": null})") == "logit_bias.1");
  CHECK(blamed_for(R"("logit_bias": [1])") == "logit_bias");
  std::string many = R"("logit_bias": {"0": 0)";
  for (int i = 1; i < 1024; ++i) many += ",\"" + std::to_string(i) + "\": 0";
  CHECK(take_completion(many + "}").sampling.biases.size() == 1024);
  CHECK(refused_completion(many + R"(,"1024": 0})") == "logit_bias | logit_bias: has more than 1024 tokens");
}

TEST_CASE("inconsistent, repeated or missing fields are refused") {
  CHECK(blamed_for(R"("stream_options": {"include_usage": true})") == "stream_options");
  CHECK(blamed_for(R"("stream": true, "stream_options": {"include_usage": 1})") ==
        "stream_options.include_usage");
  CHECK(blamed_for(R"("stream": true, "stream_options": [])") == "stream_options");
  CHECK_FALSE(take_completion(R"("stream": true, "stream_options": {"include_usage": null, "more": [1]})")
                  .include_usage);
  CHECK(blamed_for(R"("echo": true, "logprobs": 0)") == "echo");
  CHECK(refused_completion(R"("n": 1, "n": 2)") == "n | n: is given twice");
  CHECK(refused_completion(R"("prompt": "q")") == "prompt | prompt: is given twice");
  CHECK(blamed(parse_completion(R"({"prompt": "p"})")) == "model");
  CHECK(blamed(parse_completion(R"({"model": null, "prompt": "p"})")) == "model");
  CHECK(blamed(parse_completion(R"({"model": "", "prompt": "p"})")) == "model");
  CHECK(blamed(parse_completion(R"({"model": "m"})")) == "prompt");
}

TEST_CASE("max_completion_tokens goes before max_tokens") {
  CHECK(take_completion("").max_tokens == 16);
  CHECK(take_completion(R"("max_completion_tokens": 6)").max_tokens == 6);
  CHECK(take_completion(R"("max_completion_tokens": 6, "max_tokens": 5)").max_tokens == 6);
  CHECK(take_completion(R"("max_tokens": 5, "max_completion_tokens": 6)").max_tokens == 6);
}

TEST_CASE("unsupported fields that would change the answer are refused, unless they have no effect") {
  for (const char* field :
       {"suffix", "tools", "functions", "guided_json", "min_tokens", "use_beam_search", "bad_words",
        "prompt_logprobs", "stop_regex", "min_new_tokens", "max_new_tokens", "regex", "ebnf", "grammar",
        "json_schema", "return_token_ids", "return_tokens_as_token_ids", "logprob_token_ids"})
    for (const char* value : {"\"x\"", "[1]", "{\"a\": 1}", "true", "1"})
      CHECK(refused_completion("\"" + std::string(field) + "\": " + value) ==
            std::string(field) + " | " + field + ": is not supported; leave it out");
  take_completion(
      R"("suffix": "", "tools": [], "min_tokens": 0, "use_beam_search": false, "guided_json": null, "bad_words": null,
        "length_penalty": 1, "return_token_ids": false, "min_new_tokens": 0.0)");
  take_completion(
      R"("length_penalty": 1.0, "stream": true, "stream_options": {"continuous_usage_stats": false})");
  CHECK(refused_completion(R"("length_penalty": 0.9)") ==
        "length_penalty | length_penalty: is not supported; leave it out");
  CHECK(refused_completion(R"("stream": true, "stream_options": {"continuous_usage_stats": true})") ==
        "stream_options | stream_options.continuous_usage_stats: is not supported; leave it out");
  // any JSON, and logprobs of the prompt's own tokens
  for (const char* field : {"\"guided_json\": {}", "\"prompt_logprobs\": 0"})
    CHECK(refused_completion(field).ends_with("is not supported; leave it out"));
}

TEST_CASE("a body that is not a JSON object is refused with its place") {
  CHECK(refusal(parse_completion("")) == " | malformed JSON at byte 0: expected an object, found the end");
  CHECK(refusal(parse_completion("[]")).starts_with(" | malformed JSON at byte 0"));
  CHECK(refusal(parse_completion(completion_with("") + "x")).find("expected nothing more") !=
        std::string::npos);
  CHECK(blamed_for(R"("user": "\ud800")") == "user");
  CHECK(blamed_for("\"user\": \"\xff\"") == "user");
  CHECK(blamed_for("\"user\": \"a\nb\"") == "user");
  const std::string deep(1'000'000, '[');
  CHECK(refusal(parse_completion(completion_with(R"("x": )" + deep))).starts_with("x | malformed JSON"));
  CHECK(blamed(parse_completion(with_prompt(deep))) == "prompt");
  CHECK(blamed_for(R"("stop": )" + deep) == "stop");  // too deep to be shown in the message
  CHECK(blamed(parse_completion(with_prompt(R"({"a":)" + deep))) == "prompt");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += R"({"a":)";
  CHECK(blamed_for(R"("logit_bias": )" + objects) == "logit_bias");
  const std::string good =
      completion_with(R"("logit_bias": {"1": 2}, "stop": ["a\u0041"], "logprobs": 1, "echo": false)");
  for (size_t n = 0; n < good.size(); ++n) CHECK_FALSE(bool(parse_completion(good.substr(0, n))));
  CHECK(bool(parse_completion(good)));
}

}  // namespace
}  // namespace troupe::openai
