#include "saver.hpp"

#include "messages/wire/json.hpp"
#include "tally.hpp"

namespace patience {

using namespace troupe;

saver::saver(const extension_parts& parts)
    : actor(parts.self, parts.out),
      arbiter_(on_node(scheduler_of(parts.cluster), role::rank_arbiter)),
      spared_type_(parts.first_type + slots_spared),
      idle_slots_(static_cast<size_t>(parts.settings.integer("idle_slots"))),
      look_every_(std::chrono::milliseconds(parts.settings.integer("look_every_ms"))) {
  const auto& actors = parts.cluster.actors;
  for (uint32_t i = 0; i < actors.size(); ++i)
    if (actors[i].plugin == actors[self_.index].plugin && actors[i].kind == "tally")
      tallies_.push_back(on_node(actors[i].node, role::extension, i));
}

void saver::on(envelope& e, time_point) {
  dispatch(e.body, overloaded{[&](command_reply& r) {
             if (r.ok && r.token == asked_) on_state(from_json<arbiter_state>(nlohmann::json::parse(r.body)));
           }});
}

void saver::on_time(time_point now) {
  if (now < next_look_) return;
  next_look_ = now + look_every_;
  send(arbiter_, command{++asked_, get_state::type_name, {}});
}

void saver::on_state(const arbiter_state& state) {
  // The next answer shows the effect of a command, also if it was lost or the scheduler is a new one.
  std::vector<slot_id> idle;
  for (const auto& s : state.slots) {
    if (s.state == "idle") idle.push_back(s.slot);
    if (s.state != "out_of_service") std::erase(out_, s.slot);
  }
  if (idle.size() > idle_slots_) {
    out_.push_back(idle.back());
    send_slot_command(take_slot_out::type_name, out_.back());
  } else if (idle.empty() && !out_.empty()) {
    send_slot_command(put_slot_back::type_name, out_.back());
  }
  for (const auto& t : tallies_) send(t, plugin_message{spared_type_, std::vector<uint8_t>(out_.size())});
}

/// Token 0: no answer is expected.
void saver::send_slot_command(const char* command_name, slot_id slot) {
  send(arbiter_, command{0, command_name, to_json(take_slot_out{slot}).dump()});
}

void saver::report(std::vector<metric>& out) const {
  out.push_back({"patience_slots_spared", {}, static_cast<double>(out_.size()), metric::kind::gauge});
}

}  // namespace patience
