// Hash table from ids to values, for tables that every request enters and leaves.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace troupe {

/// Open-addressed hash table over dense entries whose places are reused: it allocates only when it grows
/// beyond its largest size so far. `Id` is an unsigned number or a `strong_id`; `Id{}` is not a valid key.
/// Entries stay in place until the next `add`.
template <class Id, class T>
class id_table {
 public:
  struct entry {
    Id id{};
    T value{};
  };

  size_t size() const { return entries_.size() - free_.size(); }
  bool empty() const { return size() == 0; }
  bool contains(Id id) const { return find(id) != nullptr; }

  /// Null if it is absent.
  T* find(Id id) {
    const auto place = cells_[cell_of(id)];
    return place == none ? nullptr : &entries_[place].value;
  }
  const T* find(Id id) const { return const_cast<id_table*>(this)->find(id); }

  /// Inserts `value` unless the id is present. Returns the stored value.
  T& add(Id id, T value) {
    if (2 * (size() + 1) > cells_.size()) grow();
    auto& cell = cells_[cell_of(id)];
    if (cell != none) return entries_[cell].value;
    if (free_.empty()) {
      cell = static_cast<uint32_t>(entries_.size());
      entries_.push_back({id, std::move(value)});
    } else {
      cell = free_.back();
      free_.pop_back();
      entries_[cell] = {id, std::move(value)};
    }
    return entries_[cell].value;
  }

  /// Removes the entry and returns its value; `T{}` if it is absent.
  T take(Id id) {
    const auto cell = cell_of(id);
    const auto place = cells_[cell];
    if (place == none) return {};
    close(cell);
    free_.push_back(place);
    entries_[place].id = {};
    return std::exchange(entries_[place].value, {});
  }
  void erase(Id id) { take(id); }

  void clear() { *this = {}; }

  /// All entries, in no particular order, which is the same for the same history.
  auto entries() const { return entry_range{entries_.data(), entries_.data() + entries_.size()}; }

 private:
  static constexpr uint32_t none = ~0u;

  /// Iterator that skips free places. (Not a view: clang 14 compiles the fuzz targets.)
  class walk {
   public:
    using value_type = entry;
    using difference_type = std::ptrdiff_t;

    walk() = default;
    walk(const entry* at, const entry* end) : at_(at), end_(end) { pass(); }
    const entry& operator*() const { return *at_; }
    const entry* operator->() const { return at_; }
    walk& operator++() {
      ++at_;
      pass();
      return *this;
    }
    walk operator++(int) {
      walk before = *this;
      ++*this;
      return before;
    }
    bool operator==(const walk& other) const { return at_ == other.at_; }

   private:
    void pass() {
      while (at_ != end_ && at_->id == Id{}) ++at_;
    }
    const entry* at_ = nullptr;
    const entry* end_ = nullptr;
  };
  struct entry_range {
    const entry* first;
    const entry* last;
    walk begin() const { return {first, last}; }
    walk end() const { return {last, last}; }
  };

  /// Fibonacci hashing (Knuth, TAOCP 6.4): ids that count up are spread evenly.
  size_t home_of(Id id) const {
    uint64_t number = 0;
    if constexpr (requires { id.value; })
      number = id.value;
    else
      number = id;
    return static_cast<size_t>((number * 0x9e3779b97f4a7c15) >> shift_);
  }
  /// The cell that holds the id, or the one in which to insert it.
  size_t cell_of(Id id) const {
    auto i = home_of(id);
    while (cells_[i] != none && entries_[cells_[i]].id != id) i = next(i);
    return i;
  }
  size_t next(size_t i) const { return (i + 1) & (cells_.size() - 1); }

  /// Empties a cell and moves up later entries of its probe sequence (Knuth's algorithm R).
  void close(size_t hole) {
    for (auto i = next(hole); cells_[i] != none; i = next(i)) {
      const auto home = home_of(entries_[cells_[i]].id);
      const auto mask = cells_.size() - 1;
      if (((i - home) & mask) < ((i - hole) & mask)) continue;
      cells_[hole] = cells_[i];
      hole = i;
    }
    cells_[hole] = none;
  }

  void grow() {
    cells_.assign(2 * cells_.size(), none);
    --shift_;
    for (uint32_t place = 0; place < entries_.size(); ++place)
      if (entries_[place].id != Id{}) cells_[cell_of(entries_[place].id)] = place;
  }

  std::vector<entry> entries_;                                     // by place; a free one has no id
  std::vector<uint32_t> free_;                                     // places
  std::vector<uint32_t> cells_ = std::vector<uint32_t>(16, none);  // places, by hash; half are empty at least
  int shift_ = 60;                                                 // 64 less the logarithm of their number
};

}  // namespace troupe
