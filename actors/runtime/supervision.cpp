#include "actors/runtime/supervision.hpp"

#include <spdlog/spdlog.h>

#include <atomic>
#include <caf/all.hpp>

namespace troupe {
namespace {

std::atomic<uint64_t> survived{0};

/// The types of the message that the actor is working on.
std::string current_message(caf::local_actor& actor) {
  const auto* element = actor.current_mailbox_element();
  if (element == nullptr) return "its start";
  std::string names;
  const auto& content = element->content();
  for (size_t i = 0; i < content.size(); ++i) {
    const auto [number, info] = content.type(i);
    names += (i > 0 ? ", " : "") + actor.system().types().portable_name(number, info);
  }
  return names;
}

}  // namespace

uint64_t survived_exceptions() { return survived.load(std::memory_order_relaxed); }

void report_exceptions(caf::scheduled_actor& actor, on_broken broken) {
  actor.set_exception_handler([&actor, broken = std::move(broken)](std::exception_ptr& thrown) -> caf::error {
    std::string reason = "an exception of an unknown type";
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& e) {
      reason = e.what();
    } catch (...) {
    }
    if (broken) broken(actor_exception(actor.name(), current_message(actor), reason).what());
    return caf::sec::runtime_error;
  });
}

void detail::survive(const char* actor, const char* reason) {
  survived.fetch_add(1, std::memory_order_relaxed);
  spdlog::error("event=exception actor={} reason=\"{}\" action=\"dropped its queries and continues\"", actor,
                reason);
}

}  // namespace troupe
