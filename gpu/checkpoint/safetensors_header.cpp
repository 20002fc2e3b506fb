#include "gpu/checkpoint/safetensors_header.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gpu/checkpoint/shown_name.hpp"
#include "gpu/common/model_error.hpp"

namespace troupe::llm {

namespace {

using json = nlohmann::json;

constexpr size_t max_tensor_dimensions = 8;

/// Parses {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {"key":
/// "text"}}.
class header_reader : public nlohmann::json_sax<json> {
 public:
  std::map<std::string, header_entry, std::less<>> entries;
  std::string error;  ///< the problem, if parsing ended early

  bool start_object(size_t) override {
    if (place_ == place::outside) return go(place::header);
    if (place_ == place::header) return go(name_ == "__metadata__" ? place::metadata : place::entry);
    return misplaced("an object");
  }

  bool end_object() override {
    if (place_ == place::entry) {
      if (!has_type_ || !has_shape_ || !has_offsets_) {
        return fail(fmt::format("{} lacks its dtype, its shape or its data_offsets", where()));
      }
      entry_ = nullptr;
    }
    return go(place_ == place::header ? place::outside : place::header);
  }

  bool key(std::string& k) override {
    if (place_ == place::metadata) return true;
    if (place_ == place::header) {
      name_ = std::move(k);
      if (name_ == "__metadata__") {
        if (metadata_) return fail("'__metadata__' is in the header twice");
        return metadata_ = true;
      }
      const auto [entry, fresh] = entries.try_emplace(name_);
      if (!fresh) return fail(fmt::format("{} is in the header twice", where()));
      entry_ = &entry->second;
      has_type_ = has_shape_ = has_offsets_ = false;
      return true;
    }
    key_ = std::move(k);
    bool* const seen = key_ == "dtype"          ? &has_type_
                       : key_ == "shape"        ? &has_shape_
                       : key_ == "data_offsets" ? &has_offsets_
                                                : nullptr;
    if (seen == nullptr) return fail(fmt::format("{} has the unknown key {}", where(), shown_name(key_)));
    if (*seen) return fail(fmt::format("{} has its {} twice", where(), key_));
    return *seen = true;
  }

  bool string(std::string& text) override {
    if (place_ == place::metadata) return true;
    if (place_ != place::entry || key_ != "dtype") return misplaced("a string");
    entry_->type = std::move(text);
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != place::entry || key_ == "dtype") return misplaced("a list");
    offsets_ = 0;
    return go(place::list);
  }

  bool end_array() override {
    if (key_ == "data_offsets" && offsets_ != 2) {
      return fail(fmt::format("{} has {} data_offsets where it needs 2", where(), offsets_));
    }
    return go(place::entry);
  }

  bool number_unsigned(uint64_t number) override {
    if (place_ != place::list) return misplaced("a number");
    if (key_ == "shape") {
      if (entry_->shape.size() == max_tensor_dimensions) {
        return fail(fmt::format("{} has more than {} dimensions", where(), max_tensor_dimensions));
      }
      entry_->shape.push_back(number);
      return true;
    }
    if (offsets_ == 2) return fail(fmt::format("{} has more than 2 data_offsets", where()));
    (offsets_++ == 0 ? entry_->begin : entry_->end) = number;
    return true;
  }

  bool null() override { return misplaced("null"); }
  bool boolean(bool) override { return misplaced("a boolean"); }
  bool number_integer(int64_t) override { return misplaced("a negative number"); }
  bool number_float(double, const std::string&) override { return misplaced("a fraction"); }
  bool binary(json::binary_t&) override { return misplaced("a binary value"); }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return fail(fmt::format("the header is not JSON from its byte {} on", position));
  }

 private:
  enum class place { outside, header, metadata, entry, list };

  bool go(place p) {
    place_ = p;
    return true;
  }
  bool fail(std::string what) {
    error = std::move(what);
    return false;
  }
  std::string where() const { return "tensor " + shown_name(name_); }
  bool misplaced(std::string_view what) {
    if (place_ == place::outside) return fail(fmt::format("the header is {}, not an object", what));
    if (place_ == place::metadata)
      return fail(fmt::format("'__metadata__' holds {}: it may hold only strings", what));
    if (place_ == place::header)
      return fail(fmt::format("{} is {} in the header, not an object", where(), what));
    return fail(fmt::format("{} has {} in its {}", where(), what, key_));
  }

  place place_ = place::outside;
  std::string name_, key_;
  header_entry* entry_ = nullptr;
  size_t offsets_ = 0;
  bool metadata_ = false, has_type_ = false, has_shape_ = false, has_offsets_ = false;
};

}  // namespace

std::map<std::string, header_entry, std::less<>> parse_safetensors_header(std::string_view text,
                                                                          const std::string& file) {
  header_reader reader;
  if (!json::sax_parse(text, &reader)) {
    throw model_error(fmt::format("{}: {}", file, reader.error));
  }
  return std::move(reader.entries);
}

}  // namespace troupe::llm
