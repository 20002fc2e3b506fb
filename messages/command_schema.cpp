#include "messages/command_schema.hpp"

#include "messages/obey.hpp"

namespace troupe {
namespace {

using ordered = nlohmann::ordered_json;

template <message_type T>
ordered fields_of_struct();

template <class F>
void describe(ordered& out) {
  if constexpr (detail::is_std_vector<F> && !std::is_same_v<F, std::vector<uint8_t>>) {
    out["type"] = "list";
    ordered of;
    describe<typename F::value_type>(of);
    out["of"] = std::move(of);
  } else if constexpr (message_type<F>) {
    out["type"] = "object";
    out["fields"] = fields_of_struct<F>();
  } else if constexpr (std::is_same_v<F, time_point>) {
    out["type"] = "integer";
    out["unit"] = "ns of the node's clock";
  } else if constexpr (std::is_same_v<F, duration>) {
    out["type"] = "integer";
    out["unit"] = "ns";
  } else if constexpr (std::is_enum_v<F>) {
    out["type"] = "text";
    for (size_t k = 0; k < enum_count<F>; ++k)
      out["values"].push_back(std::string(to_string(static_cast<F>(k))));
  } else if constexpr (is_strong_id<F>) {
    describe<typename F::rep>(out);
  } else if constexpr (std::is_same_v<F, bool>) {
    out["type"] = "true or false";
  } else if constexpr (std::is_integral_v<F>) {
    out["type"] = "integer";
    out["least"] = std::numeric_limits<F>::min();
    out["most"] = std::numeric_limits<F>::max();
  } else if constexpr (std::is_floating_point_v<F>) {
    out["type"] = "number";
  } else {
    out["type"] = std::is_same_v<F, std::string> ? "text" : "hexadecimal text";
  }
}

/// A name may say the unit: "output_bytes".
void add_unit(ordered& field, std::string_view name) {
  if (name.ends_with("_bytes") && !field.contains("unit")) field["unit"] = "bytes";
}

template <message_type T>
ordered fields_of_struct() {
  auto out = ordered::array();
  size_t i = 0;
  const auto one = [&]<class F>(const F&) {
    ordered field{{"name", std::string(T::field_names[i])}};
    describe<F>(field);
    add_unit(field, T::field_names[i]);
    ++i;
    out.push_back(std::move(field));
  };
  std::apply([&](const auto&... v) { (one(v), ...); }, T{}.fields());
  return out;
}

template <class... Es>
ordered schema_of_protocol(type_list<Es...>) {
  ordered out = ordered::object();
  [[maybe_unused]] const auto one = [&]<class E>(std::type_identity<E>) {
    out[E::command::type_name] = {{"about", about<typename E::command>()},
                                  {"fields", fields_of_struct<typename E::command>()},
                                  {"reply", fields_of_struct<typename E::reply>()}};
  };
  (one(std::type_identity<Es>{}), ...);
  return out;
}

/// Calls `use` with the protocol of the kind.
template <class Use>
auto with_protocol(role kind, Use&& use) {
  switch (kind) {
    case role::node: return use(node_commands{});
    case role::gateway: return use(gateway_commands{});
    case role::model_queue: return use(model_queue_commands{});
    case role::rank_arbiter: return use(rank_arbiter_commands{});
    case role::gpu_worker: return use(gpu_worker_commands{});
    case role::deployer: return use(deployer_commands{});
    case role::console: return use(console_commands{});
    case role::metrics: return use(metrics_commands{});
    case role::extension: break;  // only its plug-in knows
  }
  return use(type_list<>{});
}

}  // namespace

ordered command_schema(role kind) {
  return with_protocol(kind, [](auto protocol) { return schema_of_protocol(protocol); });
}

std::string problem_with(role kind, const command& c) {
  if (kind == role::extension) return {};
  try {
    with_protocol(kind, [&](auto protocol) { check_command(protocol, c); });
    return {};
  } catch (const json_error& e) {
    return e.what();
  } catch (const command_refused& e) {
    return e.what();
  }
}

}  // namespace troupe
