// The expected tokens of a sequence: generated alone on a device of its own, without faults.
#pragma once
#include <string>
#include <vector>

#include "gpu/llm/emulated_engine_device.hpp"
#include "messages/cluster/cluster.hpp"
#include "messages/llm/generation.hpp"

namespace troupe::sim {

/// The emulated device of an engine in a simulated world. `problem` is never set: no checkpoint is read.
llm::emulated_engine_options engine_options_of(const llm_spec& m, uint64_t seed);
/// The folder of an adapter, and the adapters that all engines have from the beginning.
std::string adapter_folder(const std::string& name);
std::vector<adapter_entry> adapters_of(const llm_spec& m);

/// The tokens of a choice, up to its `max_tokens`. `m`: the model of the request.
std::vector<llm::token> undisturbed(const llm_spec& m, const generation& asked, uint32_t choice);

}  // namespace troupe::sim
