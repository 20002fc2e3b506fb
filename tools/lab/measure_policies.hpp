// The policies that a measure can run, and those that an experiment lists.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "config/reader.hpp"
#include "tools/lab/experiment.hpp"

namespace troupe::lab {

/// Whether the measure serves models through a scheduler.
bool serves_models(measure what);

/// Why the measure cannot run the policy. Empty: it can.
std::string unusable_policy(measure what, const std::string& policy);

/// The value of a key that names one of the policies of an experiment; empty after a problem.
std::string policy_of(section& s, std::string_view key, std::span<const std::string> policies);

}  // namespace troupe::lab
