// Leased pulls: many ranges of a peer's registered memory at once, under one lease. A lease is a slot of the
// owner's pool, empty as a rule; the words at its head vouch for the ranges, wherever they lie. The owner
// gives the slot back, which wipes these words, before it changes a byte of the ranges, and a fabric reads
// the words after all ranges. So either the pulled bytes are those that were leased, or the pull ends as
// `stale`.
#pragma once
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "messages/common/memory.hpp"
#include "transport/fabric/fabric.hpp"
#include "transport/fabric/pull_plan.hpp"
#include "transport/memory/pull_check.hpp"

namespace troupe {

/// Pulls the ranges of `lease.node`. Their memory belongs to the fabric until `done` is called, once for all
/// of them: as of `fabric::begin_pull`, and with `stale` if the lease is over or of another incarnation.
/// Refused: more than `max_early_ranges`.
inline void pull_leased(fabric& over, const region_ref& lease, std::vector<pulled_range> ranges,
                        pull_done done) {
  if (!lease) return done(pull_status::stale);
  if (ranges.size() > max_early_ranges) return done(pull_status::refused);
  const auto words = std::make_shared<slot_words>();
  pull_plan plan{std::move(ranges), 0};
  plan.early = plan.ranges.size();
  plan.ranges.push_back({lease.offset, std::as_writable_bytes(std::span(words.get(), 1))});
  const slot_words expected{lease.owner.value, lease.generation};
  over.begin_pull(lease.node, std::move(plan), [words, expected, done = std::move(done)](pull_status how) {
    done(how == pull_status::ok && *words != expected ? pull_status::stale : how);
  });
}

}  // namespace troupe
