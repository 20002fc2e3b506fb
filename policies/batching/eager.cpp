#include "policies/batching/eager.hpp"

namespace troupe {

time_point eager::exec_at(const gathered& batch) const { return batch.earliest; }

}  // namespace troupe
