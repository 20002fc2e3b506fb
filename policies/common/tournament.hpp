// Tournament tree: the minimum of many indexed keys under updates.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe {

/// A tournament tree over dense indices. Every index has a key or is absent; every inner node holds the
/// smaller key of its children. Updates and searches are O(log n). It allocates only for an index larger than
/// any before. Equal keys: the lowest index comes first.
template <class Key>
class tournament {
 public:
  static constexpr uint32_t npos = ~uint32_t{0};

  /// `absent`: the key of an index that is not there; larger than every other key.
  explicit tournament(Key absent) : absent_(absent), tree_(2, absent) {}

  void set(uint32_t index, Key key) {
    if (index >= leaves()) grow(index);
    size_t i = leaves() + index;
    tree_[i] = key;
    while (i > 1) {
      const Key smaller = std::min(tree_[i], tree_[i ^ 1]);
      i /= 2;
      if (tree_[i] == smaller) return;
      tree_[i] = smaller;
    }
  }
  void erase(uint32_t index) {
    if (index < leaves()) set(index, absent_);
  }

  /// Indices are less than this.
  uint32_t bound() const { return static_cast<uint32_t>(leaves()); }
  bool empty() const { return tree_[1] == absent_; }
  Key operator[](uint32_t index) const { return index < leaves() ? tree_[leaves() + index] : absent_; }
  /// The smallest key; `absent` if empty.
  Key best() const { return tree_[1]; }
  /// The index with the smallest key; `npos` if empty.
  uint32_t first() const { return first_within(tree_[1]); }
  /// The lowest index with a key of `bound` or smaller; `npos` if there is none.
  uint32_t first_within(Key bound) const {
    if (empty() || bound < tree_[1]) return npos;
    size_t i = 1;
    while (i < leaves()) i = 2 * i + (bound < tree_[2 * i] ? 1 : 0);
    return static_cast<uint32_t>(i - leaves());
  }

 private:
  size_t leaves() const { return tree_.size() / 2; }

  void grow(uint32_t index) {
    const size_t old = leaves();
    std::vector<Key> larger(2 * std::bit_ceil(size_t{index} + 1), absent_);
    std::copy(tree_.begin() + static_cast<std::ptrdiff_t>(old), tree_.end(),
              larger.begin() + static_cast<std::ptrdiff_t>(larger.size() / 2));
    tree_ = std::move(larger);
    for (size_t i = leaves() - 1; i > 0; --i) tree_[i] = std::min(tree_[2 * i], tree_[2 * i + 1]);
  }

  Key absent_;
  std::vector<Key> tree_;  // 1 is the root, 2i and 2i + 1 the children of i, the second half the leaves
};

}  // namespace troupe
