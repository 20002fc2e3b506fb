// Reader of a TOML file, key by key. It records every problem with its position and fix and continues with a
// harmless value, so that one run reports all problems. Every key is taken once; keys that are never taken
// are reported as unknown. Every taken value is recorded with its origin.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/problem.hpp"
#include "config/setting.hpp"
#include "messages/common/time.hpp"

namespace troupe {

class reader;

/// A table of the file. Lives as long as its reader. Each key is taken once; without a fallback it is
/// required. After a problem the fallback is returned, else the minimum or an empty value.
class section {
 public:
  section(section&&) = delete;
  ~section();

  int64_t integer(std::string_view key, int64_t min, int64_t max, std::optional<int64_t> fallback = {});
  /// Finite, in [min, max]. `unit` is for messages: "milliseconds".
  double number(std::string_view key, std::string_view unit, double min, double max,
                std::optional<double> fallback = {});
  duration milliseconds(std::string_view key, double min, double max, std::optional<double> fallback = {});
  duration microseconds(std::string_view key, double min, double max, std::optional<double> fallback = {});
  duration seconds(std::string_view key, double min, double max, std::optional<double> fallback = {});
  /// Not empty, unless the fallback is. `expected` is for messages.
  std::string text(std::string_view key, std::optional<std::string> fallback = {},
                   std::string_view expected = "a string");
  bool flag(std::string_view key, bool fallback);
  /// An array of texts, none of them empty; empty if it is absent.
  std::vector<std::string> texts(std::string_view key);
  /// An array of finite numbers in [min, max]; empty if it is absent.
  std::vector<double> numbers(std::string_view key, std::string_view unit, double min, double max,
                              std::optional<std::vector<double>> fallback = {});
  /// Letters, digits, '_', '-', '.': fit for a URL, a metric label, a command line.
  std::string name(std::string_view key, std::optional<std::string> fallback = {});
  /// One name, or several joined by "/": "org/name".
  std::string path_name(std::string_view key);
  /// The index of one of `choices`. `expected` is for messages; by default the choices.
  size_t choice(std::string_view key, std::span<const std::string_view> choices, size_t fallback,
                std::string_view expected = {});
  /// The same for a required key; nothing after a problem.
  std::optional<size_t> choice(std::string_view key, std::span<const std::string_view> choices);
  /// An array of distinct elements of `known`; returns their indices, as written. Recorded if given.
  std::vector<size_t> choices(std::string_view key, std::span<const std::string_view> known, bool required);

  /// The subtable [key], or null if it is absent (or no table: a problem).
  section* table(std::string_view key);
  /// Like `table`, but an absent one reads as empty: its defaults are taken and recorded.
  section& table_or_empty(std::string_view key);
  /// The subtables [[key]], none if it is absent.
  std::vector<section*> tables(std::string_view key);

  /// Takes a key that does not apply here and is not recorded. If it is given, that is a problem, unless
  /// `why` is empty.
  void unused(std::string_view key, std::string_view why = {});

  /// Takes all remaining keys without checks, for a table with unknowable keys.
  void ignore_rest();

  bool has(std::string_view key) const;          ///< given in the file
  std::vector<std::string> keys() const;         ///< all that are given, for a table with unknowable keys
  std::string peek(std::string_view key) const;  ///< its text, without taking it; empty if it is not a text
  bool has_table(std::string_view key) const;    ///< given in the file, as a table
  bool has_array(std::string_view key) const;    ///< given in the file, as an array
  /// Position of the value of `key`, else of the table's header.
  file_position at(std::string_view key) const;
  reader& owner() { return owner_; }

  void refuse(std::string_view key, std::string_view what);  ///< a problem at this key
  void refuse(std::string_view what);                        ///< a problem of the whole table

  /// The record of `key`, which was taken, to change a value whose meaning differs from its text.
  setting& recorded(std::string_view key);
  /// Replaces the record of the whole table.
  void record_instead(std::vector<setting> settings) { record_.settings = std::move(settings); }

 private:
  friend class reader;
  struct source;  // of toml++, kept out of this header
  section(reader& owner, std::unique_ptr<source> from, std::string path, setting_table& record);

  section& child(std::string_view key, std::unique_ptr<source> from, bool repeated);
  void note(std::string_view key);
  void must_be(std::string_view key, std::string_view expected, std::string_view more = {});
  std::optional<size_t> find_choice(std::string_view key, std::span<const std::string_view> choices,
                                    std::string_view expected);
  template <class T>
  T keep(std::string_view key, T value);
  duration span_of_time(std::string_view key, std::string_view unit, double unit_ms, double min, double max,
                        std::optional<double> fallback);

  reader& owner_;
  std::unique_ptr<source> from_;
  std::string path_;
  setting_table& record_;
  std::vector<std::string> asked_;
};

class reader {
 public:
  /// `file` is the name in messages. A syntax error becomes a problem, and the root is then empty.
  reader(std::string_view text, std::string file);
  reader(reader&&) = delete;
  ~reader();

  section& root() { return *sections_.front(); }
  const std::string& file() const { return file_; }

  void refuse(file_position where, std::string_view key, std::string_view what);
  void refuse(std::vector<problem> problems);  ///< of another file that this one names
  size_t problem_count() const { return problems_.size(); }

  /// Call once, after all keys were taken: adds the unknown keys and sorts by position. After a syntax error,
  /// that is the only problem.
  std::vector<problem> finish();
  const setting_table& effective() const { return effective_; }

 private:
  friend class section;
  struct document;

  std::string file_;
  std::unique_ptr<document> document_;
  setting_table effective_;
  std::list<std::unique_ptr<section>> sections_;
  std::vector<problem> problems_;
  bool syntax_error_ = false;
};

}  // namespace troupe
