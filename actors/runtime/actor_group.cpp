#include "actors/runtime/actor_group.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "actors/runtime/supervision.hpp"

namespace troupe {
namespace {

bool is_broadcast(const actor_message& m) {
  return std::holds_alternative<node_up>(m) || std::holds_alternative<node_down>(m) ||
         std::holds_alternative<new_incarnation>(m) || std::holds_alternative<node_leaving>(m) ||
         std::holds_alternative<drain>(m) || std::holds_alternative<slot_ready>(m) ||
         std::holds_alternative<model_change>(m) || std::holds_alternative<leadership>(m);
}

template <class... Ms>
constexpr std::array<const char*, sizeof...(Ms)> names_of(const std::variant<Ms...>*) {
  const auto name = []<class M>() {
    if constexpr (requires { M::type_name; })
      return M::type_name;
    else
      return "an event of its node";
  };
  return {name.template operator()<Ms>()...};
}
constexpr auto message_names = names_of(static_cast<const actor_message*>(nullptr));

/// Answers to a submit without a recipient: a gateway may ask for a model that the scheduler does not know
/// yet, or no longer.
drops drops_of(const submit& asked) {
  drops out;
  for (const auto& r : asked.requests) out.requests.push_back({r.id, r.attempt, drop_reason::no_capacity});
  return out;
}

}  // namespace

void actor_group::adopt(std::unique_ptr<actor> s) {
  const auto vacant =
      std::find_if(actors_.begin(), actors_.end(), [](const hosted& h) { return !h.instance; });
  const auto position = static_cast<uint32_t>(vacant - actors_.begin());
  node_ = s->self().node;
  index_.set(s->self().kind, s->self().index, position);
  if (vacant == actors_.end())
    actors_.push_back({std::move(s)});
  else
    *vacant = {std::move(s)};
}

/// Runs `work`, which calls actors; rethrows their exceptions as `actor_exception`.
template <class Work>
auto actor_group::guarded(Work&& work) const {
  try {
    return work();
  } catch (const std::exception& e) {
    broken(e.what());
  } catch (...) {
    broken("an exception of an unknown type");
  }
}

void actor_group::remove(role kind, uint32_t index, time_point now) {
  const auto position = index_.find(kind, index);
  if (position == actor_index::none) return;
  guarded([&] {
    busy_ = position;
    over_ = about_time;
    actors_[position].instance->end(now);
    index_.erase(kind, index);
    actors_[position].ended = true;
    ++ended_;
    wakeups_.set(position, never);
    release_ended(position);
    settle(now);
    flush();
  });
}

/// Frees the place of an actor that has ended and has no unfinished work.
void actor_group::release_ended(uint32_t index) {
  if (!actors_[index].ended || actors_[index].instance->unfinished() > 0) return;
  actors_[index] = {};
  --ended_;
}

void actor_group::send(const address& from, const address& to, actor_message message) {
  const bool mine = to.node == node_ && has(to.kind, to.index);
  if (mine)
    inside_.push_back({from, to, std::move(message)});
  else
    leaving_.push_back({from, to, std::move(message)});
}

void actor_group::turn(message_batch& messages, time_point now) {
  guarded([&] {
    for (auto& e : messages) hand_over(e, now);
    while (wakeups_.best() <= now) {
      const auto due = wakeups_.first();
      wakeups_.set(due, never);
      touch(due);
    }
    settle(now);
    flush();
  });
}

void actor_group::flush() {
  if (leaving_.empty()) return;
  beyond_.carry(leaving_);
  leaving_.clear();
}

void actor_group::broken(const std::string& reason) const {
  const std::string over = over_ == about_time ? "the time" : message_names[over_];
  if (!actors_[busy_].instance) throw actor_exception("an actor group", over, reason);
  const auto& self = actors_[busy_].instance->self();
  throw actor_exception(std::string(to_string(self.kind)) + " " + std::to_string(self.index), over, reason);
}

void actor_group::touch(uint32_t index) {
  if (std::exchange(actors_[index].touched, true)) return;
  touched_.push_back(index);
}

void actor_group::hand_over(envelope& e, time_point now) {
  // A message may still wait here when its sender is declared dead. Actors have dropped their state for that
  // incarnation, so its messages are dropped too.
  if (dead_.contains(e.from)) return;
  const auto* next = std::get_if<new_incarnation>(&e.body);
  if (next != nullptr) dead_.clear();
  if (const auto* d = std::get_if<node_down>(&e.body)) dead_.add(*d);
  over_ = e.body.index();
  const auto deliver = [&](uint32_t i) {
    busy_ = i;
    ++actors_[i].messages;
    if (next != nullptr) actors_[i].instance->begin_incarnation(next->incarnation);
    actors_[i].instance->on(e, now);
    touch(i);
  };
  if (is_broadcast(e.body)) {
    for (uint32_t i = 0; i < actors_.size(); ++i)
      if (actors_[i].instance) deliver(i);
    return;
  }
  if (ended_ > 0 && std::holds_alternative<batch_done>(e.body)) {
    for (uint32_t i = 0; i < actors_.size(); ++i) {
      if (!actors_[i].ended || actors_[i].instance->self() != e.to) continue;
      const auto before = actors_[i].instance->unfinished();
      deliver(i);
      if (actors_[i].instance->unfinished() != before) return;  // its own batch, not its successor's
    }
  }
  const auto position = index_.find(e.to.kind, e.to.index);
  if (position == actor_index::none) {
    if (const auto* asked = std::get_if<submit>(&e.body)) send(e.to, e.from, drops_of(*asked));
    return;
  }
  // Messages to another incarnation of this node are dropped.
  if (e.to.incarnation.value != 0 && e.to.incarnation != actors_[position].instance->self().incarnation)
    return;
  if (const auto* c = std::get_if<command>(&e.body)) {
    // Actors may send each other the commands of `troupe ask`; actors of plug-ins do.
    busy_ = position;
    ++actors_[position].messages;
    auto reply = actors_[position].instance->on_command(*c, now);
    touch(position);
    return send(actors_[position].instance->self(), e.from, std::move(reply));
  }
  deliver(position);
}

void actor_group::settle(time_point now) {
  while (!touched_.empty() || !inside_.empty()) {
    // Messages first: an actor decides once, after it has handled all of them.
    while (next_inside_ < inside_.size()) {
      auto e = std::move(inside_[next_inside_++]);
      hand_over(e, now);
    }
    inside_.clear();
    next_inside_ = 0;
    if (touched_.empty()) break;
    round_.clear();
    round_.swap(touched_);
    for (auto i : round_) {
      actors_[i].touched = false;
      busy_ = i;
      over_ = about_time;
      actors_[i].instance->on_time(now);
      if (actors_[i].ended)
        release_ended(i);
      else
        wakeups_.set(i, actors_[i].instance->next_wakeup());
    }
  }
}

command_reply actor_group::run_command(const address& to, const command& c, time_point now) {
  const auto position = index_.find(to.kind, to.index);
  if (position == actor_index::none) return {c.token, false, {}};
  return guarded([&] {
    busy_ = position;
    over_ = actor_message(c).index();
    auto reply = actors_[position].instance->on_command(c, now);
    touch(position);
    settle(now);
    flush();
    return reply;
  });
}

std::vector<actor_status> actor_group::statuses(std::span<const envelope> waiting) const {
  std::vector<uint64_t> pending(actors_.size());
  for (const auto& e : waiting) {
    if (is_broadcast(e.body))
      for (auto& n : pending) ++n;
    else if (const auto position = index_.find(e.to.kind, e.to.index); position != actor_index::none)
      ++pending[position];
  }
  std::vector<actor_status> out;
  for (size_t i = 0; i < actors_.size(); ++i)
    if (const auto& h = actors_[i]; h.instance && !h.ended)
      out.push_back({h.instance->self(), std::string(h.instance->state()), h.messages, pending[i], 0});
  return out;
}

void actor_group::report(std::vector<metric>& out) const {
  for (const auto& h : actors_)
    if (h.instance && !h.ended) h.instance->report(out);
}

size_t actor_group::unfinished() const {
  size_t n = 0;
  for (const auto& h : actors_) n += h.instance ? h.instance->unfinished() : 0;
  return n;
}

std::vector<node_id> actor_group::busy_with() const {
  std::vector<node_id> out;
  for (const auto& h : actors_)
    if (h.instance) h.instance->busy_with(out);
  return out;
}

std::vector<address> actor_group::names() const {
  std::vector<address> out;
  for (const auto& h : actors_)
    if (h.instance && !h.ended) out.push_back(h.instance->self());
  return out;
}

}  // namespace troupe
