// The plot `engines`: for each point the requests and tokens a second, and the batch of each engine as a
// colour, over time (Punica, Figure 13).
#pragma once
#include <vector>

#include "tools/lab/plot_panels.hpp"

namespace troupe::lab {

std::vector<plot_panel> engine_panels(const results& r);

}  // namespace troupe::lab
