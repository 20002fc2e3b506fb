// Whole models on an emulated GPU: programs, graphs, staging, and values that kernels refuse.
#include "gpu/device/cuda_tensor_model.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "gpu/device/computing_device.hpp"
#include "tests/gpu/kernels/cuda/emulated_machine.hpp"
#include "tests/gpu/onnx/fixtures.hpp"
#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

using emulated_model = cuda_tensor_model<emulated_machine>;

std::unique_ptr<emulated_model> on_gpu(const std::shared_ptr<const onnx::model>& m,
                                       const tensor_model_options& options = {}, bool fuses = true,
                                       emulated_machine** machine = nullptr) {
  auto made = std::make_unique<emulated_machine>(3);
  made->fuse_convolutions(fuses);
  if (machine != nullptr) *machine = made.get();
  return std::make_unique<emulated_model>(std::move(made), m, options);
}

std::vector<float> run_rows(emulated_model& m, const onnx::fixture& f, uint32_t rows) {
  const auto in = f.input_rows(rows);
  std::vector<float> out(rows * f.output_row / sizeof(float));
  const batch_part part{rows, in, std::as_writable_bytes(std::span{out})};
  CHECK(m.run(rows, {&part, 1}, nullptr));
  return out;
}

/// y = x[i], for a table of four rows.
std::shared_ptr<const onnx::model> lookup() {
  onnx::graph g;
  g.file = "lookup", g.opset = 17;
  g.inputs = {{"i", data_type::int64, {-1}}};
  g.constants["table"] = onnx::floats({4, 2}, {0, 1, 10, 11, 20, 21, 30, 31});
  onnx::node n;
  n.name = "pick", n.op = "Gather", n.inputs = {"table", "i"}, n.outputs = {"y"};
  g.nodes = {n};
  g.outputs = {"y"};
  return std::make_shared<const onnx::model>(std::move(g));
}

/// A convolution without a bias; cuDNN needs zeros in its place.
std::shared_ptr<const onnx::model> convolution_and_relu() {
  onnx::graph g;
  g.file = "convolution", g.opset = 17;
  g.inputs = {{"x", data_type::fp32, {-1, 2, 3, 3}}};
  g.constants["w"] = onnx::floats({4, 2, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8});
  g.nodes.resize(2);
  g.nodes[0].op = "Conv", g.nodes[0].inputs = {"x", "w"}, g.nodes[0].outputs = {"c"};
  g.nodes[1].op = "Relu", g.nodes[1].inputs = {"c"}, g.nodes[1].outputs = {"y"};
  g.outputs = {"y"};
  return std::make_shared<const onnx::model>(std::move(g));
}

}  // namespace

TEST_CASE("cuda tensor model: golden outputs within 1e-3, rounded to TF32, in every batch size and layout") {
  for (const auto& name : onnx::fixture_names) {
    CAPTURE(name);
    const onnx::fixture f(name);
    for (const bool last : {false, true}) {
      CAPTURE(last);
      tensor_model_options options;
      options.convolutions =
          last ? tensor_model_options::layout::channels_last : tensor_model_options::layout::channels_first;
      const auto m = on_gpu(f.loaded, options, last);
      for (const uint32_t rows : {1U, 3U})
        CHECK(onnx::relative_l2(run_rows(*m, f, rows), f.output_rows(rows)) < 1e-3);
    }
  }
}

TEST_CASE("cuda tensor model: golden outputs within 1e-5 when products are exact") {
  for (const auto& name : onnx::fixture_names) {
    CAPTURE(name);
    const onnx::fixture f(name);
    tensor_model_options options;
    options.tf32 = false;
    CHECK(onnx::relative_l2(run_rows(*on_gpu(f.loaded, options), f, 2), f.output_rows(2)) < 1e-5);
  }
}

TEST_CASE("cuda tensor model: each batch size has a graph, until the shared memory grows") {
  const onnx::fixture f("mlp");
  emulated_machine* machine = nullptr;
  const auto m = on_gpu(f.loaded, {}, true, &machine);
  m->warm(8);
  CHECK(machine->captures() == 1);
  for (const uint32_t rows : {1U, 2U, 1U, 8U, 2U}) run_rows(*m, f, rows);
  CHECK(machine->captures() == 3);
  run_rows(*m, f, 64);  // all captured graphs have another address
  run_rows(*m, f, 8);
  CHECK(machine->captures() == 5);
  CHECK(onnx::relative_l2(run_rows(*m, f, 8), f.output_rows(8)) < 1e-3);
}

TEST_CASE("cuda tensor model: convolutions of a batch size without a warm-up are not tried") {
  const onnx::fixture f("resnet_a");
  tensor_model_options options;
  options.convolutions = tensor_model_options::layout::channels_last;
  emulated_machine* machine = nullptr;
  const auto m = on_gpu(f.loaded, options, true, &machine);
  m->warm(1);
  m->warm(4);
  const auto tried = machine->trials();
  CHECK(tried > 0);
  CHECK(onnx::relative_l2(run_rows(*m, f, 3), f.output_rows(3)) < 1e-3);
  CHECK(machine->trials() == tried);
}

TEST_CASE("cuda tensor model: several inputs, outputs and parts are correct, with an input as an output") {
  onnx::graph g;
  g.file = "two", g.opset = 17;
  g.inputs = {{"x", data_type::fp32, {-1, 3}}, {"i", data_type::int64, {-1, 2}}};
  g.outputs = {"y", "x", "j"};
  g.nodes.resize(2);
  g.nodes[0].op = "Relu", g.nodes[0].inputs = {"x"}, g.nodes[0].outputs = {"y"};
  g.nodes[1].op = "Add", g.nodes[1].inputs = {"i", "i"}, g.nodes[1].outputs = {"j"};
  const auto m = on_gpu(std::make_shared<const onnx::model>(std::move(g)));
  const auto part_of = [](uint32_t rows, float first) {  // all of x, then all of i
    std::vector<std::byte> bytes(rows * (3 * 4 + 2 * 8));
    for (uint32_t k = 0; k < 3 * rows; ++k) {
      const float v = (k % 2 == 0 ? 1 : -1) * (first + static_cast<float>(k));
      std::memcpy(bytes.data() + k * 4, &v, 4);
    }
    for (uint32_t k = 0; k < 2 * rows; ++k) {
      const int64_t v = static_cast<int64_t>(first) * 1000 + k;
      std::memcpy(bytes.data() + rows * 12 + k * 8, &v, 8);
    }
    return bytes;
  };
  const std::vector<std::byte> in[] = {part_of(1, 10), part_of(3, 50)};
  std::vector<std::byte> out[] = {std::vector<std::byte>(1 * 40), std::vector<std::byte>(3 * 40)};
  const batch_part parts[] = {{1, in[0], out[0]}, {3, in[1], out[1]}};
  CHECK(m->run(4, parts, nullptr));
  for (const uint32_t p : {0U, 1U}) {
    const uint32_t rows = parts[p].rows;
    int wrong = 0;
    for (uint32_t k = 0; k < 3 * rows; ++k) {
      float x = 0, y = 0, same = 0;
      std::memcpy(&x, in[p].data() + k * 4, 4);
      std::memcpy(&y, out[p].data() + k * 4, 4);
      std::memcpy(&same, out[p].data() + rows * 12 + k * 4, 4);
      wrong += y != std::max(x, 0.0F) || same != x;
    }
    for (uint32_t k = 0; k < 2 * rows; ++k) {
      int64_t i = 0, j = 0;
      std::memcpy(&i, in[p].data() + rows * 12 + k * 8, 8);
      std::memcpy(&j, out[p].data() + rows * 24 + k * 8, 8);
      wrong += j != 2 * i;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("cuda tensor model: batch sizes beyond the plan limit are prepared again") {
  const onnx::fixture f("mlp");
  tensor_model_options options;
  options.max_plans = 2;
  const auto m = on_gpu(f.loaded, options);
  for (const uint32_t rows : {5U, 1U, 2U, 3U, 1U, 5U})
    CHECK(onnx::relative_l2(run_rows(*m, f, rows), f.output_rows(rows)) < 1e-3);
}

TEST_CASE("cuda tensor model: each part gets its own rows") {
  const onnx::fixture f("encoder");
  const auto m = on_gpu(f.loaded);
  const auto in = f.input_rows(4);
  std::vector<float> out(4 * f.output_row / sizeof(float));
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span{out});
  const batch_part parts[] = {{1, std::span{in}.first(f.input_row), bytes.first(f.output_row)},
                              {3, std::span{in}.subspan(f.input_row), bytes.subspan(f.output_row)}};
  // a part holds its tensors one after the other; this model has one input
  REQUIRE(m->signature().inputs.size() == 1);
  CHECK(m->run(4, parts, nullptr));
  CHECK(onnx::relative_l2(out, f.output_rows(4)) < 1e-3);
}

TEST_CASE("cuda tensor model: an index out of range is reported, and the model continues") {
  const auto m = on_gpu(lookup());
  const auto look_up = [&](std::vector<int64_t> i) {
    std::vector<float> out(2 * i.size());
    const auto rows = static_cast<uint32_t>(i.size());
    const batch_part part{rows, std::as_bytes(std::span{i}), std::as_writable_bytes(std::span{out})};
    m->run(rows, {&part, 1}, nullptr);
    return out;
  };
  CHECK(look_up({2, -1}) == std::vector<float>{20, 21, 30, 31});
  CHECK_THROWS_WITH_AS(look_up({0, 7}), "node 'pick' (Gather): index 7 is not in -4..3", model_error);
  CHECK_THROWS_WITH_AS(look_up({-5, 0}), "node 'pick' (Gather): index -5 is not in -4..3", model_error);
  CHECK(look_up({1, 0}) == std::vector<float>{10, 11, 0, 1});
}

TEST_CASE("cuda tensor model: a batch stopped before it begins writes nothing") {
  const onnx::fixture f("mlp");
  const auto m = on_gpu(f.loaded);
  const auto in = f.input_rows(1);
  std::vector<float> out(f.output_row / sizeof(float), 7);
  const batch_part part{1, in, std::as_writable_bytes(std::span{out})};
  const std::atomic<bool> stop = true;
  CHECK_FALSE(m->run(1, {&part, 1}, &stop));
  CHECK(out == std::vector<float>(out.size(), 7));
}

TEST_CASE("cuda tensor model: a batch with the wrong size of input is refused") {
  const onnx::fixture f("mlp");
  const auto m = on_gpu(f.loaded);
  const auto in = f.input_rows(2);
  std::vector<float> out(f.output_row / sizeof(float));
  const batch_part part{1, in, std::as_writable_bytes(std::span{out})};
  CHECK_THROWS_AS(m->run(1, {&part, 1}, nullptr), model_error);
}

TEST_CASE("cuda tensor model: the faster layout of convolutions is kept, channels first on a tie") {
  const onnx::fixture f("resnet_a");
  const auto chosen = [&](std::chrono::nanoseconds channels_first, std::chrono::nanoseconds channels_last) {
    auto machine = std::make_unique<emulated_machine>(3);
    machine->takes({channels_first, channels_last});
    emulated_model m(std::move(machine), f.loaded, {});
    CHECK(onnx::relative_l2(run_rows(m, f, 1), f.output_rows(1)) < 1e-3);
    return m.channels_last();
  };
  CHECK_FALSE(chosen(5ms, 5ms));
  CHECK_FALSE(chosen(5ms, 6ms));
  CHECK(chosen(5ms, 4ms));
}

TEST_CASE("cuda tensor model: the reported memory is the device memory in use, without workspaces") {
  const auto check = [](const std::shared_ptr<const onnx::model>& model) {
    CAPTURE(model->program().file);
    for (const bool last : {false, true}) {
      CAPTURE(last);
      tensor_model_options options;
      options.convolutions =
          last ? tensor_model_options::layout::channels_last : tensor_model_options::layout::channels_first;
      const auto shared = std::make_shared<emulated_machine::workspace>();
      const size_t before = emulated_machine::memory::taken;
      emulated_model m(std::make_unique<emulated_machine>(3), model, options, shared);
      for (const uint32_t rows : {1U, 2U, 4U}) m.warm(rows);
      m.take_turns();
      CHECK(m.memory_bytes() > model->parameter_bytes());
      CHECK(m.memory_bytes() == emulated_machine::memory::taken - before);
    }
  };
  for (const auto& name : onnx::fixture_names) check(onnx::fixture(name).loaded);
  check(lookup());
  check(convolution_and_relu());
}

TEST_CASE("cuda tensor model: take_turns() replaces the model's own workspace with the shared one") {
  for (const char* name : {"resnet_a", "encoder"}) {
    CAPTURE(name);
    const onnx::fixture f(name);
    const auto shared = std::make_shared<emulated_machine::workspace>();
    auto own = std::make_shared<emulated_machine::workspace>();
    const std::weak_ptr<emulated_machine::workspace> gone = own;
    auto made = std::make_unique<emulated_machine>(3, std::move(own));
    emulated_machine* machine = made.get();
    emulated_model m(std::move(made), f.loaded, {}, shared);
    for (const uint32_t rows : {1U, 2U}) m.warm(rows);
    run_rows(m, f, 1);
    CHECK(gone.lock()->uses() > 0);
    m.take_turns();
    CHECK(shared->uses() == 0);  // another model may use it meanwhile
    CHECK(gone.expired());
    const auto captured = machine->captures();
    for (const uint32_t rows : {1U, 2U}) {
      const auto uses = shared->uses();
      CHECK(onnx::relative_l2(run_rows(m, f, rows), f.output_rows(rows)) < 1e-3);
      CHECK(shared->uses() > uses);
    }
    CHECK(machine->captures() == captured);  // a batch never waits for a capture
    CHECK(onnx::relative_l2(run_rows(m, f, 3), f.output_rows(3)) < 1e-3);
  }
}

TEST_CASE("cuda tensor model: batches continue while the device loads another model") {
  const onnx::fixture f("resnet_a"), other("encoder");
  const auto shared = std::make_shared<emulated_machine::workspace>();
  const machine_clock time;
  std::atomic<uint32_t> ready = 0;
  computing_device device(
      time, [&] { ++ready; },
      [&](const model_source& source) {
        return std::make_unique<emulated_model>(std::make_unique<emulated_machine>(3),
                                                (source.name == "encoder" ? other : f).loaded,
                                                tensor_model_options{}, shared);
      });
  const auto load = [&](model_id id, const char* name) {
    device.load(id, {.name = name, .path = {}, .latency = {1ms, 1ms}, .max_batch = 2});
  };
  const auto run = [&](model_id id, const onnx::fixture& of) {
    const auto in = of.input_rows(2);
    std::vector<float> out(2 * of.output_row / sizeof(float));
    device.start({id, 2, {{2, in, std::as_writable_bytes(std::span{out})}}}, time.now());
    batch_outcome outcome;
    device.finish();
    CHECK(device.poll(time.now(), outcome));
    for (const auto& e : outcome.errors) CHECK(e == "");
    CHECK(onnx::relative_l2(out, of.output_rows(2)) < 1e-3);
  };
  load(model_id{0}, "resnet_a");
  std::atomic<bool> loaded = false;
  std::jthread loads([&] { load(model_id{1}, "encoder"), loaded = true; });
  do run(model_id{0}, f);
  while (!loaded);
  loads.join();
  run(model_id{1}, other);
  run(model_id{0}, f);
}

TEST_CASE("cuda tensor model: a batch without room is refused, and smaller ones still run") {
  struct limit {
    explicit limit(size_t bytes) { emulated_machine::memory::max_bytes = bytes; }
    ~limit() { emulated_machine::memory::max_bytes = std::numeric_limits<size_t>::max(); }
  };
  const onnx::fixture f("resnet_a");
  tensor_model_options options;
  options.convolutions = tensor_model_options::layout::channels_first;
  const auto m = on_gpu(f.loaded, options);
  run_rows(*m, f, 1);
  {
    const limit small(1 << 20);
    CHECK_THROWS_WITH_AS(m->warm(64), doctest::Contains("a batch of 64 cannot be run: "), model_error);
    CHECK(onnx::relative_l2(run_rows(*m, f, 1), f.output_rows(1)) < 1e-3);
  }
  CHECK(onnx::relative_l2(run_rows(*m, f, 64), f.output_rows(64)) < 1e-3);
}
