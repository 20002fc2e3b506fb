// How a pull of a peer's memory ends.
#pragma once

namespace troupe {

/// `lost`: the connection is gone. `refused`: the peer has no such memory. `stale`: the words that vouch for
/// the bytes are not those expected (transport/memory/leased_pull.hpp).
enum class pull_status { ok, lost, refused, stale };

}  // namespace troupe
