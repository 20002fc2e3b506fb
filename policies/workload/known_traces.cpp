#include "policies/workload/known_traces.hpp"

#include <cmath>

namespace troupe {
namespace {

constexpr length_quantile code_prompts[]{
    {0, 3},       {0.01, 17},   {0.05, 75},   {0.1, 147},    {0.2, 385},    {0.3, 770},
    {0.4, 1075},  {0.5, 1469},  {0.6, 1909},  {0.7, 2433},   {0.8, 3193},   {0.9, 5194},
    {0.95, 7315}, {0.98, 7436}, {0.99, 7436}, {0.995, 7436}, {0.999, 7437}, {1, 7437}};
constexpr length_quantile code_outputs[]{{0, 6},       {0.01, 6},    {0.05, 6},  {0.1, 7},    {0.2, 8},
                                         {0.3, 9},     {0.4, 11},    {0.5, 13},  {0.6, 16},   {0.7, 20},
                                         {0.8, 29},    {0.9, 55},    {0.95, 90}, {0.98, 172}, {0.99, 252},
                                         {0.995, 361}, {0.999, 831}, {1, 1899}};
constexpr length_quantile conv_prompts[]{
    {0, 2},       {0.01, 29},   {0.05, 181},  {0.1, 207},    {0.2, 387},    {0.3, 403},
    {0.4, 703},   {0.5, 1020},  {0.6, 1071},  {0.7, 1130},   {0.8, 1315},   {0.9, 2735},
    {0.95, 4083}, {0.98, 4098}, {0.99, 4142}, {0.995, 4831}, {0.999, 6212}, {1, 14050}};
constexpr length_quantile conv_outputs[]{{0, 7},       {0.01, 16},   {0.05, 41},  {0.1, 54},   {0.2, 77},
                                         {0.3, 91},    {0.4, 103},   {0.5, 129},  {0.6, 177},  {0.7, 384},
                                         {0.8, 400},   {0.9, 424},   {0.95, 451}, {0.98, 540}, {0.99, 601},
                                         {0.995, 644}, {0.999, 954}, {1, 1000}};

/// Between gaps of more than a second, 141 bursts of the trace have 62.5 requests in the mean (coefficient
/// of variation 1.38), 92 ms apart, and pauses of 18.8 s (1.92). The spread of the bursts' own gaps is fitted
/// to the trace's busiest two seconds, of 25 times the mean rate.
constexpr burst_spec code_bursts{.requests = 62,
                                 .requests_cv = 1.38,
                                 .gap = 92ms,
                                 .gap_sigma = 0.75,
                                 .min_pause = 1s,
                                 .pause = 18800ms,
                                 .pause_cv = 1.92};

}  // namespace

std::optional<llm_traffic_options> traffic_like(std::string_view name, std::optional<double> rate) {
  llm_traffic_options out;
  if (name == "azure-code") {
    out.arrivals = code_bursts.denser(rate ? *rate / code_bursts.rate() : 1);
    out.prompt = measured_lengths{code_prompts};
    out.output = measured_lengths{code_outputs};
  } else if (name == "azure-conv") {
    out.arrivals = arrival_spec{arrival_kind::gamma, rate.value_or(5.53), 1.09};
    out.prompt = measured_lengths{conv_prompts};
    out.output = measured_lengths{conv_outputs};
  } else if (name == "burstgpt") {
    out.arrivals = arrival_spec{arrival_kind::gamma, rate.value_or(1), std::sqrt(2)};  // of shape 0.5
    out.prompt = out.output = zipf_lengths{.exponent = 1.1, .max = 1023};
  } else {
    return {};
  }
  return out;
}

}  // namespace troupe
