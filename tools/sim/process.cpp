#include "tools/sim/process.hpp"

#include <caf/all.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>
#include <stdexcept>

#include "actors/kinds/kv_arena.hpp"
#include "gpu/llm/staged_engine_device.hpp"
#include "policies/common/random.hpp"
#include "tools/sim/llm_reference.hpp"
#include "tools/sim/payload.hpp"

namespace troupe::sim {
namespace {

model_signature signature_of(const model_spec& m) {
  const auto bytes = [](const char* name, uint32_t n) { return tensor_spec{name, data_type::uint8, {n}}; };
  return {{bytes("input", input_row_of(m))}, {bytes("output", output_row_of(m))}};
}

}  // namespace

process::process(node_id self, uint64_t number, const environment& env)
    : self_(self),
      number_(number),
      environment_(env),
      fabric_(make_sim_fabric(env.time, env.network, env.memory, self, number, env.clock)),
      images_(
          env.cluster, self, env.image_size,
          [this](duration after, std::function<void()> job) {
            environment_.time.at(environment_.time.now() + after, sim_event::job, self_, std::move(job));
          },
          env.images_complete) {
  for (uint32_t i = 0; i < env.cluster.slots.size(); ++i) {
    const auto& s = env.cluster.slots[i];
    if (s.node == self)
      devices_.try_emplace(slot_id{i}, slot_id{i}, emulated_options{s.jitter, env.seed + i, {}}, env.devices);
  }
  env.network.attach(self, sim_lane::control, this);
  runtime_ = std::make_unique<node_runtime>(
      env.cluster, self,
      node_environment{
          .clock = {env.clock, waker()},
          .fabric = fabric_part_of(env),
          .control = *this,
          .hosts = {env.system, scheduled_hosts(), env.caf_host_per_actor,
                    [this](message_sink& beyond) -> message_sink& { return sink_.emplace(*this, beyond); }},
          .devices = device_part_of(env),
          .clients = {env.clients, env.cluster.llms.empty() ? nullptr : &env.completions},
          .process = process_part_of(env)});
  for (const auto& [id, _] : engines_)
    runtime_->post().send({self, {}, role::llm_engine, id.value}, device_ready{});
}

process::~process() = default;

void process::open_engines(registered_memory kv_arena) {
  const auto& cluster = environment_.cluster;
  for (uint32_t i = 0; i < cluster.engines.size(); ++i) {
    const auto& e = cluster.engines[i];
    if (e.node != self_) continue;
    const auto make = [this, i, kv = kv_allocator(cluster, engine_id{i}, kv_arena)] {
      return make_engine(engine_id{i}, kv);
    };
    engines_[engine_id{i}] = cluster.llms[e.model.value].scales
                                 ? std::make_unique<llm::staged_engine_device>(make, llm::engine_facts{})
                                 : make();
  }
}

std::unique_ptr<llm::engine_device> process::make_engine(engine_id id,
                                                         const llm::image_allocator& kv_memory) {
  const auto& env = environment_;
  const auto model = env.cluster.engines[id.value].model;
  auto o = engine_options_of(env.cluster.llms[model.value], env.seed + id.value);
  o.steps_ahead = env.steps_ahead;
  o.kv_memory = kv_memory;
  if (env.cluster.llms[model.value].scales) {
    o.images = [this, model = weights_of(model)] {
      if (auto known = images_.find(model)) return known;
      auto own = images_.create(model, 0);
      images_.read(model, own);
      return own;
    };
    o.ready = [this, id] { runtime_->post().send({self_, {}, role::llm_engine, id.value}, device_ready{}); };
    o.misused = [this](const std::string& what) { environment_.misused(what); };
    o.image_problem = [this, model = weights_of(model)](uint32_t layer, std::span<const std::byte> image) {
      auto problem = problem_with_layer(model, layer, image);
      if (!problem.empty()) environment_.wrong_weights(problem);
      return problem;
    };
  }
  return std::make_unique<llm::emulated_engine_device>(env.clock, std::move(o));
}

wake_service process::waker() {
  return [this](const caf::actor& who, time_point due) { wake(who, due); };
}

fabric_part process::fabric_part_of(const environment& env) {
  return {*fabric_, env.next_incarnation, [self = self_, seed = env.seed](incarnation_id incarnation) {
            return random_stream(seed ^ incarnation.value, "lane", self.value)();
          }};
}

std::function<caf::actor(std::unique_ptr<actor_group>, on_broken)> process::scheduled_hosts() {
  return [this](std::unique_ptr<actor_group> group, on_broken broken) {
    const auto actors = group->names();
    const auto kind = actors.empty() ? role::node : actors.front().kind;
    return spawn_scheduled_caf_host(
        environment_.system, std::move(group), environment_.clock, environment_.turn_interval, waker(),
        std::move(broken), [this, kind](const envelope& e) { environment_.delivered(self_, kind, e); });
  };
}

device_part process::device_part_of(const environment& env) {
  return {[this](slot_id s) -> device& { return devices_.at(s); },
          *this,
          [this](engine_id e) -> llm::engine_device& { return *engines_.at(e); },
          [&llms = env.cluster.llms](llm_id m) { return adapters_of(llms[m.value]); },
          moves_weights(env.cluster) ? &images_ : nullptr,
          [this](registered_memory arena) { images_.use_arena(arena); },
          [this](registered_memory arena) { open_engines(arena); }};
}

process_part process::process_part_of(const environment& env) {
  return {.on_ready = [this](bool ready) { ready_ = ready; },
          .on_drained = env.drained,
          .on_refused = [](const std::string&) {},
          .on_unusable = {},
          .broken = env.broken,
          .begin_drain = [this] { caf::anon_send(runtime_->node_actor(), drain_atom_v); },
          .read_model = env.read_model};
}

/// Loading takes virtual time.
void process::load(const deployment& line, std::function<void(load_outcome)> done) {
  environment_.time.at(
      environment_.time.now() + 5ms, sim_event::job, self_, [this, line, done = std::move(done)] {
        const auto& m = line.definition;
        check_files(line.model);
        for (auto& [slot, device] : devices_) {
          load_outcome out{slot, line.model, line.revision, {}, {}};
          out.loaded =
              device.load(line.model, {m.name, "", signature_of(m), environment_.latency_of(m), m.max_batch});
          done(std::move(out));
        }
      });
}

/// Those that a device loads from memory.
void process::check_files(model_id model) {
  const auto files = files_of(environment_.cluster, model);
  const auto images = images_.find(files);
  if (!images || !images->complete()) return;
  for (uint32_t l = 0; l < images->layers(); ++l)
    if (auto problem = problem_with_layer(files, l, images->image(l)); !problem.empty())
      environment_.wrong_weights(std::move(problem));
}

size_t process::running_batches() const {
  size_t n = 0;
  for (const auto& [slot, device] : devices_) n += device.running();
  return n;
}

void process::send(control_frame frame) {
  std::vector<char> bytes;
  caf::binary_serializer sink(environment_.system, bytes);
  if (sink(frame)) throw std::logic_error("a control frame cannot be written");
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  environment_.network.send(self_, frame.to.node, sim_lane::control, 0, {begin, begin + bytes.size()});
}

void process::receive(node_id, std::span<sim_packet> packets) {
  for (const auto& p : packets) {
    control_frame frame;
    caf::binary_deserializer source(environment_.system, reinterpret_cast<const char*>(p.bytes.data()),
                                    p.bytes.size());
    if (source(frame)) throw std::logic_error("a control frame cannot be read");
    caf::anon_send(runtime_->node_actor(), std::move(frame));
  }
}

void process::wake(const caf::actor& who, time_point due) {
  auto& a = alarms_[who.id()];
  if (!a.who) a = {this, who};
  a.due = due;
  if (due < a.scheduled) schedule(a, due);
}

void process::schedule(alarm& a, time_point t) {
  a.scheduled = t;
  // Two words of captures: with a third std::function would allocate.
  environment_.time.at_local(t, sim_event::wake, self_, [&a, t] {
    if (a.scheduled != t) return;
    a.scheduled = never;
    if (a.due <= a.owner->environment_.clock.now()) {
      a.due = never;
      caf::anon_send(a.who, wake_atom_v);
    } else if (a.due != never) {
      a.owner->schedule(a, a.due);
    }
  });
}

}  // namespace troupe::sim
