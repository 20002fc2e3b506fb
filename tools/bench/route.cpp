#include "tools/bench/route.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "policies/common/random.hpp"
#include "policies/llm/request_router.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {
namespace {

using microseconds = std::chrono::duration<double, std::micro>;

constexpr address asking_gateway{{}, {}, role::llm_gateway, 0};

std::string adapter_name(uint64_t i) { return fmt::format("adapter-{:05}", i); }

void say(request_router& router, const bench_route_options& o, time_point now) {
  for (uint32_t e = 0; e < o.engines; ++e) {
    engine_status s;
    s.engine = {e};
    s.ready = true;
    s.kv_tokens = 1 << 24;
    s.block_tokens = 16;
    s.max_sequences = o.sequences;
    s.adapter_slots = o.sequences;
    router.on_status(s, now);
  }
}

/// Registers engines that have all adapters, and much memory.
void introduce(request_router& router, const bench_route_options& o, time_point now) {
  say(router, o, now);
  adapters_known all{{}, {}, true, {}, {}};
  for (uint32_t i = 0; i < o.adapters; ++i) all.present.push_back({adapter_name(i), {}});
  for (uint32_t e = 0; e < o.engines; ++e) {
    all.engine = {e};
    router.on_adapters(all);
  }
}

/// Prompts whose beginnings are in the prefix cache of an engine each.
class cached_prompts {
 public:
  cached_prompts(request_router& router, const bench_route_options& o, time_point now) : o_(o) {
    for (uint32_t e = 0; e < o.engines; ++e) {
      cached_blocks told{{}, {e}, 1, true, {}, {}};
      for (uint64_t i = 0; i < o.blocks / o.engines; ++i) told.present.push_back(block(e, i));
      (void)router.on_cached(told, now);
    }
  }
  /// A part of a cached chain, then blocks that no engine has.
  std::vector<uint64_t> some(random_stream& random) const {
    const auto e = random.below(o_.engines),
               chains = std::max<uint64_t>(1, o_.blocks / o_.engines / o_.prompt_blocks);
    const auto first = random.below(chains) * o_.prompt_blocks, cached = random.below(o_.prompt_blocks + 1);
    std::vector<uint64_t> out;
    for (uint64_t i = 0; i < o_.prompt_blocks; ++i)
      out.push_back(i < cached ? block(e, first + i) : random());
    return out;
  }

 private:
  static uint64_t block(uint64_t engine, uint64_t i) {
    uint64_t state = engine << 32 | i;
    return splitmix64(state);
  }
  const bench_route_options& o_;
};

struct routing_times {
  double mean = 0, median = 0, p99 = 0, largest = 0;
};

routing_times measure(std::string_view routing, const bench_route_options& o) {
  request_router::options settings;
  for (uint32_t e = 0; e < o.engines; ++e) settings.engines.push_back({e});
  settings.by_prefix = routing == "prefix";
  request_router router(settings, (*routing_policies().find(routing))());
  random_stream random(1, "route");
  time_point now{1h};
  introduce(router, o, now);
  std::optional<cached_prompts> prompts;
  if (settings.by_prefix) prompts.emplace(router, o, now);
  std::vector<request_id> open;
  uint64_t next = 1;
  const auto enough = static_cast<size_t>(std::max(1.0, o.load * o.engines * o.sequences));
  std::vector<double> took;
  took.reserve(o.requests);
  for (uint64_t i = 0; took.size() < o.requests; ++i, now += 100us) {
    if (i % 1000 == 0) say(router, o, now);  // every 100 ms
    routed_request r;
    r.id = {next++};
    r.adapter = adapter_name(random.below(o.adapters));
    r.tokens = 100;
    r.arrival = now;
    if (prompts) {
      r.prefix = prompts->some(random);
      r.tokens = 16 * r.prefix.size();
    }
    const route asked{{}, false, {r}};
    const bool full = open.size() >= enough;
    const auto leaves = full ? random.below(open.size()) : 0;
    const auto began = std::chrono::steady_clock::now();
    if (full) router.on_end(open[leaves], now);
    router.on_route(asking_gateway, asked, now);
    const auto decided = router.decide(now).size();
    const microseconds one = std::chrono::steady_clock::now() - began;
    if (full) {
      took.push_back(one.count());
      open[leaves] = r.id;
    } else {
      open.push_back(r.id);
    }
    if (decided != 1) break;  // impossible: there is room
  }
  std::ranges::sort(took);
  routing_times f;
  for (const auto t : took) f.mean += t / static_cast<double>(took.size());
  const auto at = [&](double share) {
    return took[static_cast<size_t>(share * static_cast<double>(took.size() - 1))];
  };
  f.median = at(0.5);
  f.p99 = at(0.99);
  f.largest = took.back();
  return f;
}

}  // namespace

int bench_route(const bench_route_options& o) {
  if (!o.routing.empty() && routing_policies().find(o.routing) == nullptr) {
    report("troupe: unknown routing '{}'", o.routing);
    return exit_bad_input;
  }
  nlohmann::ordered_json document{{"engines", o.engines},      {"adapters", o.adapters},
                                  {"sequences", o.sequences},  {"load", o.load},
                                  {"cached_blocks", o.blocks}, {"prompt_blocks", o.prompt_blocks}};
  if (!o.json)
    fmt::print(
        "{} engines with {} adapters, {} sequences each at once, {:.0f} % of these places taken\n{:<14} "
        "{:>9} "
        "{:>9} {:>9} {:>9}\n",
        o.engines, o.adapters, o.sequences, 100 * o.load, "us a decision", "mean", "median", "99 %",
        "largest");
  for (const auto name : routing_policies().names()) {
    if (!o.routing.empty() && name != o.routing) continue;
    const auto f = measure(name, o);
    document["microseconds"][std::string(name)] = {
        {"mean", f.mean}, {"median", f.median}, {"p99", f.p99}, {"largest", f.largest}};
    if (!o.json)
      fmt::print("{:<14} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f}\n", name, f.mean, f.median, f.p99, f.largest);
  }
  if (o.json) fmt::print("{}\n", document.dump(2));
  return exit_done;
}

}  // namespace troupe
