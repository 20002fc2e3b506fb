#include "actors/extension/extension_guard.hpp"

#include <utility>

namespace troupe {

extension_guard::extension_guard(std::unique_ptr<actor> guarded, outbox& out, uint32_t first_type,
                                 const extension_protocol& takes)
    : actor(guarded->self(), out), guarded_(std::move(guarded)), first_type_(first_type), takes_(takes) {}

void extension_guard::on(envelope& e, time_point now) {
  if (const auto* m = std::get_if<plugin_message>(&e.body))
    if (m->type < first_type_ || m->type - first_type_ >= plugin_types) {
      ++foreign_;
      return;
    }
  guarded_->on(e, now);
}

void extension_guard::on_time(time_point now) { guarded_->on_time(now); }

void extension_guard::report(std::vector<metric>& out) const {
  guarded_->report(out);
  out.push_back({"troupe_extension_foreign_messages_total",
                 {{"actor", std::to_string(self_.index)}},
                 static_cast<double>(foreign_),
                 metric::kind::counter});
}

command_reply extension_guard::on_command(const command& c, time_point now) {
  if (auto problem = takes_.problem_with(c); !problem.empty()) return {c.token, false, std::move(problem)};
  return guarded_->on_command(c, now);
}

}  // namespace troupe
