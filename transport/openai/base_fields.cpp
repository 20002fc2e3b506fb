#include "transport/openai/base_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace troupe::openai {
namespace {

constexpr size_t max_stops = 16, longest_stop = 1 << 10, max_stop_tokens = 128, max_biases = 1 << 10;
constexpr int64_t max_choices = 128;
constexpr double day_ms = 86'400'000;
constexpr size_t any_number = std::numeric_limits<size_t>::max();  // the body's size bounds it

std::vector<llm::token> take_tokens(body_reader& in, const std::string& name) {
  std::vector<llm::token> tokens;
  in.list(name, any_number, [&](place at) { tokens.push_back(in.whole<llm::token>(at, 0)); });
  if (tokens.empty()) refuse(name, name + ": has no tokens");
  return tokens;
}

struct unsupported_field {
  std::string_view name, nothing;  ///< and the value that requests nothing; empty: only null does
};

// Fields that would change the answer. Options of tool calls have no effect without tools.
constexpr unsupported_field unsupported[] = {{"allowed_token_ids", ""},
                                             {"audio", ""},
                                             {"bad_words", "[]"},
                                             {"chat_template", ""},
                                             {"chat_template_kwargs", "{}"},
                                             {"continue_final_message", "false"},
                                             {"documents", "[]"},
                                             {"ebnf", ""},
                                             {"functions", "[]"},
                                             {"grammar", ""},
                                             {"guided_choice", ""},
                                             {"guided_grammar", ""},
                                             {"guided_json", ""},
                                             {"guided_regex", ""},
                                             {"json_schema", ""},
                                             {"length_penalty", "1.0"},
                                             {"logits_processors", "[]"},
                                             {"logprob_token_ids", "[]"},
                                             {"max_new_tokens", ""},
                                             {"min_new_tokens", "0"},
                                             {"min_tokens", "0"},
                                             {"prompt_embeds", ""},
                                             {"prompt_logprobs", ""},
                                             {"regex", ""},
                                             {"return_token_ids", "false"},
                                             {"return_tokens_as_token_ids", "false"},
                                             {"stop_regex", "[]"},
                                             {"structured_outputs", ""},
                                             {"suffix", "\"\""},
                                             {"tools", "[]"},
                                             {"truncate_prompt_tokens", ""},
                                             {"use_beam_search", "false"},
                                             {"web_search_options", ""}};

/// Equal texts or, as 1 and 1.0, equal numbers.
bool requests_nothing(std::string_view asked, std::string_view nothing) {
  const auto number = [](std::string_view text) -> std::optional<double> {
    double value = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (ec != std::errc{} || end != text.data() + text.size()) return {};
    return value;
  };
  if (nothing.empty()) return false;
  return asked == nothing || (number(nothing) && number(asked) == number(nothing));
}

void take_stop(base_request& request, body_reader& in) {
  const auto one = [&](place at) {
    auto text = in.text(at, longest_stop);
    if (text.empty()) refuse(at.text(), at.text() + ": must not be empty");
    request.stop.push_back(std::move(text));
  };
  if (in.peek() == '"') return one("stop");
  if (in.peek() != '[') in.wrong("stop", "must be a string or a list of strings");
  in.list("stop", max_stops, one);
}

void take_biases(std::vector<llm::token_bias>& biases, body_reader& in) {
  in.object("logit_bias", [&](const std::string& key) {
    llm::token which = -1;
    const auto* end = key.data() + key.size();
    const auto [at, ec] = std::from_chars(key.data(), end, which);
    if (ec != std::errc{} || at != end || which < 0)
      refuse("logit_bias", fmt::format("logit_bias: its keys must be token ids; {} is not", shortened(key)));
    const auto bias = in.number(fmt::format("logit_bias.{}", which), -100, 100);
    if (biases.size() == max_biases)
      refuse("logit_bias", fmt::format("logit_bias: has more than {} tokens", max_biases));
    biases.push_back({which, static_cast<float>(bias)});
  });
  std::ranges::sort(biases, {}, &llm::token_bias::which);
  const auto twice = std::ranges::adjacent_find(biases, {}, &llm::token_bias::which);
  if (twice != biases.end())
    refuse("logit_bias", fmt::format("logit_bias: token {} is given twice", twice->which));
}

void take_stream_options(base_request& request, body_reader& in) {
  in.object("stream_options", [&](const std::string& key) {
    const auto at = "stream_options." + key;
    if (in.take_null()) return;
    if (key == "include_usage")
      request.include_usage = in.boolean(at);
    else if (key != "continuous_usage_stats")
      in.raw();
    else if (in.boolean(at))
      refuse("stream_options", at + ": is not supported; leave it out");
  });
}

// Logits are divided by it, and few survive a division by less.
float temperature_of(double value) { return value < 1e-5 ? 0 : static_cast<float>(value); }

// In (0, most], as a float too.
float share_above_zero(body_reader& in, const std::string& param) {
  const auto value = in.number(param, 0, 1);
  if (value == 0) refuse(param, param + ": must be above 0 and at most 1");
  return std::max(static_cast<float>(value), std::numeric_limits<float>::min());
}

bool take_sampling(base_request& request, body_reader& in, const std::string& key) {
  auto& sampling = request.sampling;
  const auto number = [&](double min, double max) { return static_cast<float>(in.number(key, min, max)); };
  if (key == "temperature")
    sampling.temperature = temperature_of(in.number(key, 0, 2));
  else if (key == "top_p")
    sampling.top_p = share_above_zero(in, key);
  else if (key == "top_k")  // -1: all, as 0
    sampling.top_k =
        static_cast<uint32_t>(std::max<int64_t>(0, in.whole(key, -1, std::numeric_limits<int32_t>::max())));
  else if (key == "min_p")
    sampling.min_p = number(0, 1);
  else if (key == "repetition_penalty")
    sampling.repetition_penalty = number(0.01, 100);
  else if (key == "presence_penalty")
    sampling.presence_penalty = number(-2, 2);
  else if (key == "frequency_penalty")
    sampling.frequency_penalty = number(-2, 2);
  else if (key == "seed")
    request.seed = sampling.seed = in.bits(key);
  else if (key == "logit_bias")
    take_biases(sampling.biases, in);
  else
    return false;
  return true;
}

void take_cache_salt(base_request& request, body_reader& in) {
  request.cache_salt = in.text("cache_salt", longest_model_name);
  if (request.cache_salt.empty()) refuse("cache_salt", "cache_salt: must not be empty; leave it out");
}

// {"type": "text"} is the default.
void take_response_format(body_reader& in) {
  std::string type = "text";
  in.object("response_format", [&](const std::string& key) {
    if (key == "type")
      type = in.text("response_format.type");
    else
      in.raw();
  });
  if (type != "text")
    refuse("response_format",
           "response_format: only {\"type\": \"text\"} is supported, not " + shortened(type));
}

}  // namespace

bool take_shared(base_request& request, body_reader& in, const std::string& key) {
  if (take_sampling(request, in, key)) return true;
  if (key == "model")
    request.model = in.text(key, longest_model_name);
  else if (key == "response_format")
    take_response_format(in);
  else if (key == "stop")
    take_stop(request, in);
  else if (key == "include_stop_str_in_output")
    request.include_stop = in.boolean(key);
  else if (key == "stop_token_ids")
    in.list(key, max_stop_tokens,
            [&](place at) { request.stop_tokens.push_back(in.whole<llm::token>(at, 0)); });
  else if (key == "ignore_eos")
    request.ignore_eos = in.boolean(key);
  else if (key == "skip_special_tokens")
    request.skip_special_tokens = in.boolean(key);
  else if (key == "add_special_tokens")
    request.add_special_tokens = in.boolean(key);
  else if (key == "n")
    request.n = in.whole<uint32_t>(key, 1, max_choices);
  else if (key == "stream")
    request.stream = in.boolean(key);
  else if (key == "stream_options")
    take_stream_options(request, in);
  else if (key == "user")
    request.user = in.text(key, longest_model_name);
  else if (key == "cache_salt")
    take_cache_salt(request, in);
  else if (key == "priority")
    request.priority = in.whole<int32_t>(key, -1'000'000, 1'000'000);
  else if (key == "ttft_ms")
    request.ttft = from_ms(in.number(key, 1e-3, day_ms));
  else if (key == "tpot_ms")
    request.tpot = from_ms(in.number(key, 1e-3, day_ms));
  else
    return false;
  return true;
}

std::vector<prompt> take_texts(body_reader& in, const std::string& key, size_t max) {
  if (in.peek() == '"') return {in.text(key)};
  if (in.peek() != '[') in.wrong(key, "must be a string, a list of tokens, or a list of these");
  std::vector<prompt> texts;
  std::vector<llm::token> tokens;
  in.list(key, any_number, [&](place at) {
    const char next = in.peek();
    if (next != '"' && next != '[') {
      if (!texts.empty()) in.wrong(at, "must be a string or a list of tokens, like the elements before it");
      tokens.push_back(in.whole<llm::token>(at, 0));
      return;
    }
    if (!tokens.empty()) in.wrong(at, "must be a token, like the elements before it");
    if (texts.size() == max) refuse(key, key + ": has more than " + std::to_string(max) + " " + key + "s");
    if (next == '"')
      texts.emplace_back(in.text(at));
    else
      texts.emplace_back(take_tokens(in, at.text()));
  });
  if (!tokens.empty()) texts.emplace_back(std::move(tokens));
  if (texts.empty()) refuse(key, key + ": must not be empty");
  return texts;
}

void check_shared(const base_request& request, const body_reader& in) {
  if (!in.has("model") || request.model.empty())
    refuse("model", "model: is missing; GET /v1/models lists the models");
  if (in.has("stream_options") && !request.stream)
    refuse("stream_options", "stream_options: is only for streamed responses; set stream to true");
}

bool take_unsupported(body_reader& in, const std::string& key) {
  const auto* found = std::ranges::find(unsupported, key, &unsupported_field::name);
  if (found == std::end(unsupported)) return false;
  if (!requests_nothing(in.raw(), found->nothing)) refuse(key, key + ": is not supported; leave it out");
  return true;
}

}  // namespace troupe::openai
