// Adapters that are loaded or unloaded at all engines of a model: all engines have an adapter, or none.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "messages/llm/generation.hpp"

namespace troupe {

/// Counts the answers of the engines. A change is settled by the last answer. Pure.
class adapter_changes {
 public:
  struct settled {
    adapter_changed answer;          ///< the client's
    std::vector<engine_id> undo_at;  ///< these engines loaded the adapter, another one refused
    change_adapter undo;             ///< the message for them
  };

  /// `engines` have been asked. Requires: there are some, and `asked.token` is not in use.
  void begin(change_adapter asked, std::set<engine_id> engines);
  /// Unexpected answers are ignored.
  std::optional<settled> on_answer(engine_id from, const adapter_changed& a);
  /// The engine is gone: it counts as a refusal. In the order of the tokens.
  std::vector<settled> lose(engine_id id);

  /// The adapter is being unloaded from the engines of the model.
  bool unloads(llm_id model, std::string_view name) const;
  bool empty() const { return changes_.empty(); }

 private:
  struct change {
    change_adapter asked;
    std::set<engine_id> awaited, done;
    adapter_changed worst;  // the first answer that is not `done`
  };
  using table = std::map<uint64_t, change>;  // by token

  std::optional<settled> note(table::iterator at, engine_id from, const adapter_changed& a);

  table changes_;
};

}  // namespace troupe
