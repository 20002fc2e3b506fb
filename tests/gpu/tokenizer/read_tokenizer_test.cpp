#include <doctest/doctest.h>

#include "tests/gpu/tokenizer/models.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe::llm;
using troupe::temporary_folder;

TEST_CASE("a tokenizer.json goes before a tokenizer.model") {
  const temporary_folder folder;
  folder.write("tokenizer.model", write_sentencepiece({}));
  CHECK(read_tokenizer(folder.path)->find("</s>"));
  folder.write("tokenizer.json", byte_level_document().dump());
  CHECK_FALSE(read_tokenizer(folder.path)->find("</s>"));
  CHECK(read_tokenizer(folder.path)->find("<|eot|>"));
}

TEST_CASE("a tokenizer.json with byte_fallback needs no tokenizer.model, and goes before it") {
  const temporary_folder folder;
  folder.write("tokenizer.json", character_document({"▁", "x"}).dump());
  CHECK(read_tokenizer(folder.path)->encode("x", false, false) == token_ids{259, 260});
  folder.write("tokenizer.model", write_sentencepiece({}));
  CHECK(read_tokenizer(folder.path)->encode("x", false, false) == token_ids{259, 260});
}

TEST_CASE("a tokenizer.json with byte_fallback that is not supported gives way to the tokenizer.model") {
  const temporary_folder folder;
  auto document = character_document({});
  document["model"]["type"] = "Unigram";
  folder.write("tokenizer.json", document.dump());
  CHECK(refusal([&] { read_tokenizer(folder.path); }).find("'Unigram'") != std::string::npos);
  folder.write("tokenizer.model", write_sentencepiece({}));
  CHECK(read_tokenizer(folder.path)->find("</s>"));
  document["model"]["byte_fallback"] = false;  // another vocabulary than that of the tokenizer.model
  folder.write("tokenizer.json", document.dump());
  CHECK(refusal([&] { read_tokenizer(folder.path); }).find("'Unigram'") != std::string::npos);
}

TEST_CASE("a folder without a tokenizer is refused with a fix") {
  const temporary_folder folder;
  CHECK(refusal([&] { read_tokenizer(folder.path); }) ==
        folder.path.string() +
            ": has neither a tokenizer.json nor a tokenizer.model: copy the one that belongs to "
            "the model into it");
}

TEST_CASE("a file beyond the size limit is refused by its size") {
  const temporary_folder folder;
  for (const auto* name : {"tokenizer.model", "tokenizer.json"}) {
    folder.write(name, "");
    std::filesystem::resize_file(folder.path / name, uint64_t{1} << 40);
    const auto what = refusal([&] { read_tokenizer(folder.path); });
    CHECK(what == (folder.path / name).string() +
                      ": has 1099511627776 bytes, more than the 134217728 that such a file may have");
  }
}

TEST_CASE("a folder instead of a file is refused") {
  const temporary_folder folder;
  std::filesystem::create_directory(folder.path / "tokenizer.json");
  CHECK(refusal([&] { read_tokenizer(folder.path); }).find("tokenizer.json: is not a file") !=
        std::string::npos);
}
