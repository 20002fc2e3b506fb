#include "gpu/chat_template/json_reader.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace troupe::llm::jinja {

namespace {

/// Builds values while the parser reads, without a document and without recursion.
class value_builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit value_builder(budget& cost) : cost_(cost) {}

  value take() { return std::move(done_); }

  bool null() override { return add(none{}); }
  bool boolean(bool b) override { return add(b); }
  bool number_integer(int64_t n) override { return add(n); }
  bool number_unsigned(uint64_t n) override {
    if (n > INT64_MAX) refuse_number();
    return add(static_cast<int64_t>(n));
  }
  bool number_float(double d, const std::string& written) override {
    if (written.find_first_of(".eE") == std::string::npos) refuse_number();  // a whole number
    return add(d);
  }
  bool string(std::string& s) override { return add(make_text(s)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }

  bool start_object(size_t) override { return open(); }
  bool key(std::string& name) override {
    cost_.spend(4 + name.size() / bytes_a_step);
    open_.back().keys.push_back(make_text(name));
    return true;
  }
  bool end_object() override {
    auto closed = close();
    dict_builder d;
    for (size_t i = 0; i < closed.keys.size(); ++i) d.put(closed.keys[i], std::move(closed.items[i]));
    return add(d.take());
  }
  bool start_array(size_t) override { return open(); }
  bool end_array() override { return add(make_list(close().items)); }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& e) override {
    if (e.id == 406) refuse_number();  // nlohmann's number of "out of range"
    throw refusal(fmt::format("from_json: the text is not JSON (at character {})", position));
  }

 private:
  struct container {
    std::vector<value> keys, items;
  };

  [[noreturn]] static void refuse_number() { throw refusal("from_json: a number does not fit into 64 bits"); }

  bool open() {
    if (open_.size() == deepest_value)
      throw refusal(fmt::format("from_json: nests deeper than {}", deepest_value));
    open_.emplace_back();
    return true;
  }

  container close() {
    auto last = std::move(open_.back());
    open_.pop_back();
    return last;
  }

  bool add(value v) {
    cost_.spend(2);
    if (open_.empty())
      done_ = std::move(v);
    else
      open_.back().items.push_back(std::move(v));
    return true;
  }

  budget& cost_;
  std::vector<container> open_;
  value done_;
};

}  // namespace

value read_json_text(std::string_view text, budget& cost) {
  cost.spend_characters(text.size());
  value_builder builder(cost);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

}  // namespace troupe::llm::jinja
