// Adapters of one engine: their names, their slots on the device, and the gateways that asked for a change.
//
// A new adapter is registered under its name, checked by a first read of its files, and named by requests
// from then on. Its weights come onto the device when sequences wait for it (adapter_slots.hpp). An adapter
// that is unregistered loses its name at once, and its slot once its last request has ended.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "messages/llm/commands.hpp"
#include "policies/common/histogram.hpp"
#include "policies/llm/adapter_registry.hpp"
#include "policies/llm/adapter_slots.hpp"

namespace troupe::llm {

class adapter_manager {
 public:
  using entry = adapter_registry::entry;
  using users_of = std::function<uint32_t(adapter_id)>;  ///< sequences on the device that use an adapter

  struct reply {
    address to;
    adapter_changed says;
  };
  /// Consequences of a change, to be carried out in this order.
  struct outcome {
    const entry* read = nullptr;         ///< the device reads its files; `on_read` follows
    std::vector<adapter_entry> present;  ///< requests may name these from now on
    std::vector<std::string> gone;       ///< requests may not name these any more
    std::optional<reply> answer;
  };

  /// `present`: adapters that requests may name from the beginning. `slots` 0: no adapter is ever loaded.
  adapter_manager(uint32_t slots, std::span<const adapter_entry> present);

  /// A gateway asks to register or unregister an adapter. `model_loaded`: the device can read files. The
  /// answer to an unload may come later, from `end_request`.
  outcome change(const address& from, const change_adapter& asked, bool model_loaded, time_point now);
  /// The device has read the files of an adapter; `problem` is empty if they are valid.
  outcome on_read(adapter_id id, const std::string& problem);

  /// An adapter that requests may name; null: there is none of this name, or it is not checked yet.
  const entry* find(std::string_view name) const;
  const entry* find(adapter_id id) const { return registry_.find(id); }
  /// Every `begin_request` is followed by one `end_request`. The base model is none of these.
  void begin_request(adapter_id id);
  /// The answer to a gateway whose unload was waiting for the end of this request.
  std::optional<reply> end_request(adapter_id id, time_point now);

  /// Loads and unloads may have become possible or necessary.
  void reconsider() { due_ = true; }
  bool exchange_due() const { return due_; }
  /// Number of adapters that `exchange` may bring in at a time: half of the slots, so that sequences of the
  /// other adapters continue.
  size_t exchange_limit() const { return (slots_.slots() + 1) / 2; }
  /// adapter_slots::decide. Nothing is due afterwards.
  adapter_slots::decision exchange(std::span<const adapter_id> wanted, const users_of& users, time_point now);

  /// Of a load that ended.
  struct load {
    adapter_id id;
    duration took{};         ///< from the order
    uint64_t bytes = 0;      ///< on the device
    bool from_disk = false;  ///< else from host memory
  };
  /// False: the adapter was unregistered meanwhile and has no requests; the next exchange unloads it.
  bool on_loaded(const load& l, time_point now);
  /// The load has failed. Its slot is free, and the next request tries again, as the files may be repaired by
  /// then. Null: the adapter was unregistered meanwhile and has no requests.
  const entry* on_failed(adapter_id id, const std::string& problem);

  /// All adapters that requests may name, by name.
  std::vector<adapter_entry> all() const;
  /// Names of these adapters, sorted; without those forgotten.
  std::vector<std::string> names_of(std::span<const adapter_id> ids) const;
  adapter_list list(std::string_view after, size_t limit, const users_of& running) const;

  /// The files of an adapter are being read.
  bool is_reading() const { return reading_ > 0; }
  /// The device has no model any more, and no adapters. Requires: none is being read.
  void lose_device() { slots_ = adapter_slots(slots_.slots()); }

  size_t size() const { return registry_.size(); }
  uint32_t slots_taken() const { return slots_.taken(); }
  uint64_t loads() const { return load_times_.count(); }  ///< onto the device
  uint64_t reads() const { return reads_; }               ///< loads from disk
  /// Names of the adapters on the device, sorted.
  std::vector<std::string> on_device() const { return names_of(slots_.on_device()); }
  const histogram& load_times() const { return load_times_; }  ///< seconds

 private:
  struct asker {
    address gateway;
    uint64_t token = 0;
  };
  outcome add(const address& from, const change_adapter& asked);
  outcome remove(const address& from, const change_adapter& asked, time_point now);
  std::optional<reply> leave(entry& e, time_point now);

  adapter_registry registry_;
  adapter_slots slots_;
  std::unordered_map<adapter_id, asker> askers_;  // of adapters that are checked or leave
  bool due_ = false;                              // an exchange
  uint64_t reads_ = 0;
  uint32_t reading_ = 0;
  histogram load_times_{histogram::seconds()};
};

}  // namespace troupe::llm
