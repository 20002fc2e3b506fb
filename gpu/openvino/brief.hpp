// Messages of OpenVINO for people.
#pragma once
#include <exception>
#include <string>

namespace troupe::vino {

/// In one line, without the places in OpenVINO's sources; nodes as "node 'y' (Add)".
std::string brief(const std::exception& e);

}  // namespace troupe::vino
