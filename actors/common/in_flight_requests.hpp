// in_flight_requests is a gateway's table of requests from admission to outcome, for tensor requests and for
// generation requests. It bounds their number, charges them to their tenants, watches their expiry, and
// counts every accepted request and its outcome once in the ledger.
#pragma once
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "actors/common/outcome.hpp"
#include "actors/common/tenant_limiter.hpp"
#include "messages/common/id_table.hpp"
#include "policies/common/expiry_queue.hpp"
#include "policies/common/ledger.hpp"

namespace troupe {

/// The part of an in-flight request that the table keeps.
struct in_flight_state {
  bool charged = false;            ///< counts against its tenant's limits, until `leave`
  time_point accepted_at = never;  ///< set by the gateway; copied into the outcome
};

/// The result of `admit`.
struct admission_result {
  drop_reason refused = drop_reason::none;  ///< none: it is admitted
  duration retry_after{};                   ///< of a refusal: earliest time for a retry; zero: unknown
  const char* detail = "";                  ///< of `quota` the limit: "rate" or "concurrency"

  outcome refusal() const {
    auto how = outcome::dropped(refused);
    how.retry_after = retry_after;
    how.detail = detail;
    return how;
  }
};

/// Requests without an outcome, by id. `Request` derives from `in_flight_state` and has the client's message
/// as `asked`, with `id`, `model`, `tenant` and `arrival`. A reference to a request is valid until the next
/// `add`. Not thread-safe. The limiter outlives the table.
template <class Request>
class in_flight_requests {
 public:
  struct options {
    size_t max = 65536;        ///< requests at a time
    duration drain_timeout{};  ///< the `retry_after` of refusals while draining
  };

  in_flight_requests(const options& o, tenant_limiter& tenants) : options_(o), tenants_(tenants) {}

  /// Counts `asked` as accepted, and charges its tenant if it is admitted. Reasons to refuse it, in this
  /// order: the drain, `unserved` (none: the gateway can serve it), the bound, the tenant's quota.
  /// `outlived`: requests outside the table that count against the bound. The caller adds an admitted request
  /// and settles a refused one.
  template <class Asked>
  admission_result admit(const Asked& asked, drop_reason unserved, size_t outlived, time_point now) {
    ledger_.accept(model_of(asked));
    if (draining_) return {drop_reason::draining, options_.drain_timeout};
    if (unserved != drop_reason::none) return {unserved};
    if (entries_.size() + outlived >= options_.max) return {drop_reason::queue_full};
    if (const auto verdict = tenants_.admit(asked.tenant, now); !verdict.admitted)
      return {drop_reason::quota, verdict.retry_after, verdict.over_concurrency ? "concurrency" : "rate"};
    return {};
  }
  /// Requires: it is admitted, its id is not in the table.
  Request& add(Request r, time_point expires_at) {
    r.charged = true;
    const auto id = r.asked.id;
    expiries_.add(expires_at, id);
    return entries_.add(id, std::move(r));
  }

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  bool contains(request_id id) const { return entries_.contains(id); }
  /// Null if it is not in the table.
  Request* find(request_id id) { return entries_.find(id); }
  const Request* find(request_id id) const { return entries_.find(id); }
  /// {id, value} of all, in no particular order.
  auto entries() const { return entries_.entries(); }
  /// The ids of requests for which `wanted(request)` holds, ascending.
  template <class If>
  std::vector<request_id> ids_where(If&& wanted) const {
    std::vector<request_id> out;
    for (const auto& e : entries_.entries())
      if (wanted(e.value)) out.push_back(e.id);
    std::sort(out.begin(), out.end());
    return out;
  }

  /// Removes it from the table; the caller settles it. Requires: it is in the table.
  Request take(request_id id) { return entries_.take(id); }
  /// Completes `how` with the times of the request, counts it in the ledger and frees the tenant's place.
  /// Once for each request that was taken or refused.
  void settle(Request& r, outcome& how, time_point now) {
    leave(r);
    how.arrival = r.asked.arrival;
    how.latency = now - r.asked.arrival;
    how.accepted_at = r.accepted_at;
    const auto model = model_of(r.asked);
    switch (how.kind) {
      case outcome_kind::finished: ledger_.finish(model); break;
      case outcome_kind::dropped: ledger_.drop(model, how.reason); break;
      case outcome_kind::failed: ledger_.fail(model, how.error); break;
    }
  }
  /// Frees the tenant's place, if the request has one. A request with work beyond its outcome keeps its
  /// place: clear `charged` before `settle` and set it again afterwards.
  void leave(Request& r) {
    if (std::exchange(r.charged, false)) tenants_.leave(r.asked.tenant);
  }

  /// Lets an id expire (again) at `at`.
  void expire_at(time_point at, request_id id) { expiries_.add(at, id); }
  /// The next id that expired by `now`: of the table, or one for which `outlived(id)` holds.
  template <class Outlived>
  std::optional<request_id> next_expired(time_point now, Outlived&& outlived) {
    return expiries_.pop(now, [&](request_id id) { return entries_.contains(id) || outlived(id); });
  }
  /// When to call `next_expired` next. `outlived`: requests outside the table that may expire.
  time_point next_expiry(size_t outlived) const {
    return entries_.size() + outlived == 0 ? never : expiries_.next();
  }

  /// From now on every request is refused.
  void drain() { draining_ = true; }
  bool draining() const { return draining_; }

  const ledger& counts() const { return ledger_; }
  bool balanced() const { return ledger_.balanced(entries_.size()); }
  std::vector<tenant_limits::counts> tenant_statistics() const { return tenants_.statistics(); }

 private:
  /// The ledger of an LLM gateway counts by llm_id.
  template <class Asked>
  static model_id model_of(const Asked& asked) {
    return model_id{asked.model.value};
  }

  const options options_;
  tenant_limiter& tenants_;
  bool draining_ = false;
  ledger ledger_;
  id_table<request_id, Request> entries_;
  expiry_queue expiries_;
};

}  // namespace troupe
