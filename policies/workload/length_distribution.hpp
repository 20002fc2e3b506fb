// Distributions of the lengths of prompts and answers, in tokens.
#pragma once
#include <cstdint>
#include <span>
#include <variant>

#include "policies/common/distributions.hpp"
#include "policies/common/random.hpp"

namespace troupe {

/// Log-normal, rounded and clamped to 1 to `max`.
struct token_lengths {
  double median = 1;
  double sigma = 0;  ///< standard deviation of the logarithm; 0: always the median
  uint32_t max = 1;
};

/// Length n is n^-exponent as likely as length 1.
struct zipf_lengths {
  double exponent = 1;
  uint32_t max = 1;
};

/// `share` of the lengths are at most `tokens`.
struct length_quantile {
  double share = 0;
  uint32_t tokens = 1;
};

/// Measured lengths: between two quantiles all lengths are equally likely. The shares ascend from 0 to 1, and
/// the tokens ascend. The memory must live as long as what uses it.
struct measured_lengths {
  std::span<const length_quantile> quantiles;
};

using length_spec = std::variant<token_lengths, zipf_lengths, measured_lengths>;

class length_distribution {
 public:
  explicit length_distribution(const length_spec& spec);
  uint32_t operator()(random_stream& random) const;

 private:
  length_spec spec_;
  weighted_choice zipf_;  ///< of lengths less 1
};

}  // namespace troupe
