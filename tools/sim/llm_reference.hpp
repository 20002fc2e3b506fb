// What a sequence would be if nothing ever went wrong: generated alone on a device of its own.
#pragma once
#include <string>
#include <vector>

#include "gpu/llm/emulated_engine_device.hpp"
#include "messages/cluster/cluster.hpp"
#include "messages/llm/generation.hpp"

namespace troupe::sim {

/// The emulated device of an engine in a simulated world. `problem` never: no checkpoint is read.
llm::emulated_engine_options engine_options_of(const llm_spec& m, uint64_t seed);
/// The adapters that all engines have from the beginning, and the folder of one that is loaded later.
std::string adapter_folder(const std::string& name);
std::vector<adapter_entry> adapters_of(const llm_spec& m);

/// The tokens of a choice, up to its `max_tokens`. `m`: the model of the request.
std::vector<llm::token> undisturbed(const llm_spec& m, const generation& asked, uint32_t choice);

}  // namespace troupe::sim
