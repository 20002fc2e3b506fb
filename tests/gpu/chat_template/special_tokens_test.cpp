#include "gpu/chat_template/special_tokens.hpp"

#include <doctest/doctest.h>

#include <string>

#include "gpu/common/model_error.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;
using llm::read_special_tokens, llm::special_tokens;

TEST_CASE("a checkpoint names its special tokens as texts or as added tokens") {
  const temporary_folder f;
  CHECK(read_special_tokens(f.path).empty());
  f.write("tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false},
    "image_token": "<image>", "add_bos_token": true, "pad_token": 5, "mask_token": {}, "chat_template": "x"})");
  CHECK(read_special_tokens(f.path) ==
        special_tokens{{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"image_token", "<image>"}});
}

TEST_CASE("special tokens of models for more than text are in objects of their own") {
  const temporary_folder f;
  f.write("tokenizer_config.json",
          R"({"extra_special_tokens": {"image_token": "<image>", "start": {"content": "<s>"}},
    "model_specific_special_tokens": {"boi_token": null}})");
  CHECK(read_special_tokens(f.path) ==
        special_tokens{{"boi_token", std::nullopt}, {"image_token", "<image>"}, {"start", "<s>"}});
  f.write("tokenizer_config.json", R"({"extra_special_tokens": ["<a>"]})");
  CHECK(read_special_tokens(f.path).empty());
}

TEST_CASE("a special token may be absent by the checkpoint's own word") {
  const temporary_folder f;
  f.write("tokenizer_config.json", R"({"bos_token": null, "eos_token": "<|im_end|>"})");
  CHECK(read_special_tokens(f.path) ==
        special_tokens{{"bos_token", std::nullopt}, {"eos_token", "<|im_end|>"}});
}

TEST_CASE("special_tokens_map.json counts only beside files without added_tokens_decoder") {
  const temporary_folder f;
  f.write("special_tokens_map.json", R"({"eos_token": "<map>"})");
  CHECK(read_special_tokens(f.path) == special_tokens{{"eos_token", "<map>"}});
  f.write("tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": "<config>"})");
  CHECK(read_special_tokens(f.path) == special_tokens{{"bos_token", "<s>"}, {"eos_token", "<map>"}});
  f.write("tokenizer_config.json", R"({"eos_token": "<config>", "added_tokens_decoder": {}})");
  CHECK(read_special_tokens(f.path) == special_tokens{{"eos_token", "<config>"}});
}

TEST_CASE("a broken file of special tokens is refused with its name") {
  const temporary_folder f;
  for (const auto* name : {"special_tokens_map.json", "tokenizer_config.json"}) {
    f.write(name, "[");
    try {
      read_special_tokens(f.path);
      FAIL("nothing was thrown");
    } catch (const model_error& e) {
      CHECK(std::string(e.what()) == (f.path / name).string() + ": is not a JSON object");
    }
  }
}
