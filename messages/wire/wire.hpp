// All messages that cross between nodes, from the lists of the subjects. They give the variant that lanes
// carry, the binding to Cap'n Proto (schema.hpp), the CAF type ids (caf_types.hpp), and the round-trip tests.
//
// A message needs
// - a struct with TROUPE_MESSAGE in a header of its subject,
// - a struct with its name in PascalCase, and its fields in camelCase, in messages/<subject>/wire.capnp,
// - a line MESSAGE(number, struct, Cap'n Proto struct) in messages/<subject>/wire.hpp. The number is its type
//   on the wire: a new message takes the next free one, and no number ever changes.
// A struct inside messages has a line PART(struct, Cap'n Proto struct) instead. An enum, with `to_string` and
// `<name>_count`, has a line ENUM(name). In the schema ids are their integers, times are nanoseconds of the
// sender's clock, durations nanoseconds, and defaults zero or empty. A struct that differs from its schema is
// an error on first use (codec_layout.hpp).
#pragma once
#include <utility>
#include <variant>

#include "messages/cluster/wire.hpp"
#include "messages/common/wire.hpp"
#include "messages/deployment/wire.hpp"
#include "messages/llm/wire.hpp"
#include "messages/scaling/wire.hpp"
#include "messages/tensor/wire.hpp"

#define TROUPE_WIRE_MESSAGES(MESSAGE) \
  TROUPE_COMMON_MESSAGES(MESSAGE)     \
  TROUPE_TENSOR_MESSAGES(MESSAGE)     \
  TROUPE_LLM_MESSAGES(MESSAGE)        \
  TROUPE_DEPLOYMENT_MESSAGES(MESSAGE) \
  TROUPE_CLUSTER_MESSAGES(MESSAGE)    \
  TROUPE_SCALING_MESSAGES(MESSAGE)

#define TROUPE_WIRE_PARTS(PART) \
  TROUPE_COMMON_PARTS(PART)     \
  TROUPE_TENSOR_PARTS(PART)     \
  TROUPE_LLM_PARTS(PART)        \
  TROUPE_DEPLOYMENT_PARTS(PART) \
  TROUPE_CLUSTER_PARTS(PART)    \
  TROUPE_SCALING_PARTS(PART)

#define TROUPE_WIRE_ENUMS(ENUM) \
  TROUPE_COMMON_ENUMS(ENUM)     \
  TROUPE_TENSOR_ENUMS(ENUM)     \
  TROUPE_LLM_ENUMS(ENUM)        \
  TROUPE_DEPLOYMENT_ENUMS(ENUM) \
  TROUPE_CLUSTER_ENUMS(ENUM)

namespace troupe {

template <class E>
inline constexpr size_t enum_count = 0;
#define TROUPE_ENUM_COUNT(name) \
  template <>                   \
  inline constexpr size_t enum_count<name> = name##_count;
TROUPE_WIRE_ENUMS(TROUPE_ENUM_COUNT)
#undef TROUPE_ENUM_COUNT

namespace detail {

/// The message of a number. A number that two messages have is an error here; one that none has, below.
template <size_t Number>
struct numbered_message;
#define TROUPE_NUMBERED_MESSAGE(number, name, schema) \
  template <>                                         \
  struct numbered_message<number> {                   \
    using type = name;                                \
  };
TROUPE_WIRE_MESSAGES(TROUPE_NUMBERED_MESSAGE)
#undef TROUPE_NUMBERED_MESSAGE

#define TROUPE_ONE_MESSAGE(number, name, schema) +1
inline constexpr size_t wire_message_count = 0 TROUPE_WIRE_MESSAGES(TROUPE_ONE_MESSAGE);
#undef TROUPE_ONE_MESSAGE

template <size_t... Numbers>
type_list<typename numbered_message<Numbers>::type...> messages_of(std::index_sequence<Numbers...>);

}  // namespace detail

/// In the order of their numbers.
using wire_message_list =
    decltype(detail::messages_of(std::make_index_sequence<detail::wire_message_count>{}));
using wire_message = variant_of<wire_message_list>;

}  // namespace troupe
