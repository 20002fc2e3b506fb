// Synthetic requests with the statistics of public traces, for those who do not have the traces themselves.
#pragma once
#include <optional>
#include <string_view>

#include "policies/workload/llm_traffic.hpp"

namespace troupe {

inline constexpr std::string_view known_trace_names[]{"azure-code", "azure-conv", "burstgpt"};

/// Arrivals and lengths of:
/// - `azure-code`, `azure-conv`: quantiles and arrivals of the Azure LLM inference trace 2023 (Azure/
///   AzurePublicDataset, CC-BY 4.0). The first comes in bursts of about 60 requests, with nothing in 70 % of
///   windows of two seconds; the second is nearly a Poisson process.
/// - `burstgpt`: the defaults of BurstGPT's own generator (HPMLL/BurstGPT): gamma-distributed gaps, lengths
/// by
///   Zipf's law. It is no measurement: its prompts are far shorter than those of the trace.
/// `rate`: requests a second, in the long run; nothing: the trace's. Nothing for other names.
std::optional<llm_traffic_options> traffic_like(std::string_view name, std::optional<double> rate = {});

}  // namespace troupe
