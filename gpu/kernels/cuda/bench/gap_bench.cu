// gpu_gap_bench [--rows N] [--steps N] [--json]: measures the idle time of a GPU between two decode steps,
// without and with a step ahead, and the host's time for a step.
//
// The decoder has 32 layers, 2.4 GB of zeros, and a page table for sequences of 512 positions and more. A gap
// is the wall time of a step beyond its graph's own time, which is measured with back-to-back replays. It
// consists of copies of chosen tokens and tables, and of host work and the graph's launch, if the GPU waits
// for them. The host does the work of an engine device's thread here, but no planning
// (docs/language-models.md has that).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/kernels/cuda/cuda_machine.cuh"
#include "gpu/llm/cuda/cuda_decoder.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

constexpr element type = element::bf16;
constexpr uint32_t block_tokens = 16, first_position = 512;

/// Remembers the graph that it ran last.
class timed_machine : public cuda_machine<8> {
 public:
  template <class Record>
  void replay(uint32_t key, Record record) {
    cuda_machine<8>::replay(last_ = key, record);
  }
  /// Median microseconds of the last graph in back-to-back replays: the host is ahead.
  double graph_us() {
    if (graphs() == 0) throw std::runtime_error("a step is no graph: " + graph_error());
    constexpr size_t warm_up = 10, replays = 50;
    const std::vector<stream_event> between(replays + 1);
    for (size_t i = 0; i < warm_up + replays; ++i) {
      if (i >= warm_up) between[i - warm_up].record(stream());
      cuda_machine<8>::replay(last_, [] {});
    }
    between.back().record(stream());
    std::vector<double> us;
    for (size_t i = 0; i < replays; ++i)
      us.push_back(static_cast<double>(between[i + 1].since(between[i]).count()) * 1e-3);
    return median(us);
  }
  static double median(std::vector<double>& numbers) {
    const auto middle = numbers.begin() + static_cast<ptrdiff_t>(numbers.size() / 2);
    std::ranges::nth_element(numbers, middle);
    return *middle;
  }

 private:
  uint32_t last_ = 0;
};

llm::model_config model() {
  llm::model_config c;
  c.family = "llama", c.layers = 32, c.hidden = 2048, c.intermediate = 5504;
  c.heads = c.kv_heads = 16, c.head_dim = 128, c.vocabulary = 32000, c.max_positions = 4096;
  c.norm_epsilon = 1e-5F;
  c.rope.frequencies.assign(c.head_dim / 2, 1e-3F);
  c.window.assign(c.layers, 0);
  return c;
}

/// Layer `index` of the model, all zeros.
llm::layer_parameters zeros(const llm::model_config& c, uint32_t index) {
  llm::layer_parameters out;
  size_t bytes = 0;
  const auto add = [&](const char* name, std::vector<uint64_t> shape) {
    out.parameters.push_back({name, type, shape, bytes});
    size_t numbers = 1;
    for (const auto n : shape) numbers *= n;
    bytes += (numbers * 2 + 63) / 64 * 64;
  };
  const uint64_t hidden = c.hidden, inner = c.intermediate, q = c.q_width(), kv = c.kv_width();
  if (index == 0) {
    add("embed_tokens.weight", {c.vocabulary, hidden});
  } else if (index == c.layers + 1) {
    add("norm.weight", {hidden}), add("lm_head.weight", {c.vocabulary, hidden});
  } else {
    add("input_layernorm.weight", {hidden}), add("post_attention_layernorm.weight", {hidden});
    add("self_attn.q_proj.weight", {q, hidden}), add("self_attn.k_proj.weight", {kv, hidden});
    add("self_attn.v_proj.weight", {kv, hidden}), add("self_attn.o_proj.weight", {hidden, q});
    add("mlp.gate_proj.weight", {inner, hidden}), add("mlp.up_proj.weight", {inner, hidden});
    add("mlp.down_proj.weight", {hidden, inner});
  }
  auto blob = std::make_shared<aligned_bytes>(bytes);
  std::memset(blob->data(), 0, bytes);
  out.blob = std::move(blob);
  return out;
}

struct outcome {
  double step_us = 0, host_us = 0, wall_us = 0;
};

/// Runs decode steps with a row for every sequence, as an engine's device does.
outcome run(timed_machine& machine, llm::step_model& decoder, uint32_t rows, uint32_t steps, bool ahead) {
  using clock = std::chrono::steady_clock;
  const auto us = [](clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); };
  const uint32_t blocks = (first_position + steps) / block_tokens + 1;
  const llm::sampling_params greedy{.temperature = 0, .biases = {}};
  llm::token_sampling best;
  best.params = &greedy;
  const std::vector<llm::token_sampling> samplings(rows, best);
  std::deque<llm::llm_step> in_flight;
  std::vector<llm::chosen_token> chosen(rows);
  std::vector<double> host;
  const std::atomic<bool> never = false;
  const auto begin = [&](uint32_t position, bool from_before) {
    llm::llm_step& s = in_flight.emplace_back();
    s.block_start = {0}, s.segment_end = {0, rows}, s.segment_adapters = {llm::base_model};
    for (uint32_t r = 0; r < rows; ++r) {
      s.tokens.push_back(from_before ? llm::chosen_before(r) : chosen[r].which);
      s.positions.push_back(position), s.row_sequence.push_back(r), s.sampled.push_back(r);
      s.sequences.push_back(llm::sequence_id{r + 1});
      for (uint32_t b = 0; b < blocks; ++b) s.blocks.push_back(r * blocks + b);
      s.block_start.push_back(static_cast<uint32_t>(s.blocks.size()));
    }
    const auto at = clock::now();
    decoder.begin(s, samplings, 0, model().layers + 2, nullptr);
    host.push_back(us(clock::now() - at));
  };
  const auto take = [&] {
    decoder.finish(chosen, never);
    in_flight.pop_front();
  };
  const auto begun = clock::now();
  for (uint32_t i = 0; i < steps; ++i) {
    begin(first_position + i, ahead && i > 0);
    if (!ahead || i > 0) take();
  }
  if (ahead) take();
  outcome out;
  out.wall_us = us(clock::now() - begun) / steps;
  out.host_us = timed_machine::median(host);
  begin(first_position + steps / 2, false);  // the average length of the run
  take();
  out.step_us = machine.graph_us();
  return out;
}

struct options {
  uint32_t rows = 32, steps = 500;
  bool json = false;
};

/// Throws std::invalid_argument.
options read_options(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--json") {
      o.json = true;
    } else if ((name == "--rows" || name == "--steps") && i + 1 < argc) {
      (name == "--rows" ? o.rows : o.steps) = static_cast<uint32_t>(std::atoi(argv[++i]));
    } else {
      throw std::invalid_argument("an unknown option");
    }
  }
  if (o.rows < 1 || o.rows > 256 || o.steps < 20) throw std::invalid_argument("a number out of range");
  return o;
}

void print(const options& o, const char* name, const outcome& found) {
  const double gap = found.wall_us - found.step_us;
  if (o.json) {
    std::printf(
        R"({"op": "gap, %s", "shape": "rows %u", "us": %.3f, "step_us": %.3f, "host_us": %.3f, "wall_us": %.3f%s})",
        name, o.rows, gap, found.step_us, found.host_us, found.wall_us,
        std::strcmp(name, "a step ahead") == 0 ? R"(, "target_us": 20)" : "");
  } else {
    std::printf("%-16s %10.1f %10.1f %10.1f %10.1f\n", name, gap, found.step_us, found.host_us,
                found.wall_us);
  }
}

void measure(const options& o) {
  const llm::model_config config = model();
  const uint32_t blocks = o.rows * ((first_position + o.steps) / block_tokens + 1);
  auto owned = std::make_unique<timed_machine>();
  timed_machine& machine = *owned;
  cuda_decoder<timed_machine, type> decoder(
      std::move(owned), config,
      {blocks * shape_of(config, block_tokens).page_bytes(), block_tokens, 0, true});
  for (uint32_t l = 0; l < config.layers + 2; ++l) decoder.load(l, zeros(config, l));
  if (!o.json) {
    std::printf(
        "wall: mean time of a step; step: its graph in back-to-back replays, with the GPU's time between "
        "graphs;\n"
        "gap: wall - step: copies, and the host's time if the GPU waits; host: to begin a step, without "
        "planning\n");
    std::printf("%-16s %10s %10s %10s %10s   us, rows %u\n", "", "gap", "step", "host", "wall", o.rows);
  }
  run(machine, decoder, o.rows, o.steps, false);  // warm-up: captures the graphs
  if (o.json) std::fputs("[", stdout);
  for (const bool ahead : {false, true}) {
    print(o, ahead ? "a step ahead" : "one at a time", run(machine, decoder, o.rows, o.steps, ahead));
    if (o.json) std::fputs(ahead ? "]\n" : ",\n ", stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  options o;
  try {
    o = read_options(argc, argv);
  } catch (const std::invalid_argument& e) {
    std::fprintf(stderr, "gpu_gap_bench: %s; usage: gpu_gap_bench [--rows 1..256] [--steps 20...] [--json]\n",
                 e.what());
    return 2;
  }
  try {
    measure(o);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gpu_gap_bench: %s\n", e.what());
    return 1;
  }
}
