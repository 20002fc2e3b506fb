#include "tools/commands/infer_file.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "messages/common/json_text.hpp"
#include "messages/common/time.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/input_file.hpp"
#include "tools/common/local_request.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {

namespace {

int refuse(const std::string& problem) {
  report("{}", problem);
  return exit_bad_input;
}

nlohmann::ordered_json tensors_json(const std::vector<tensor_spec>& specs) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& s : specs)
    list.push_back({{"name", s.name}, {"datatype", to_string(s.type)}, {"shape", s.shape}});
  return list;
}

std::string size_problem(const std::string& file, size_t bytes, const model_signature& signature) {
  const auto one = request_bytes(signature, 1);
  if (!has_rows(signature))
    return fmt::format("{}: has {} bytes; inputs of these shapes have {}", file, bytes, one);
  return fmt::format("{}: {} bytes are not a whole number of rows of {} bytes", file, bytes, one);
}

std::string too_large(const std::string& file) { return fmt::format("{}: does not fit into memory", file); }

/// A message of a run, which may name the node alone.
std::string about_model(const std::string& file, const std::string& what) {
  return what.starts_with(file) ? what : fmt::format("{}: {}", file, what);
}

}  // namespace

int infer_file(const infer_file_options& options) {
  std::vector<char> input;
  std::unique_ptr<batch_model> model;
  try {
    const auto load = one_device(options.where);
    auto read = read_input_file(options.input);
    if (!read.error.empty()) return refuse(fmt::format("{}: {}", options.input, read.error));
    input = std::move(read.bytes);
    model = load({.name = options.model_file, .path = options.model_file, .max_batch = 1});
  } catch (const model_error& e) {
    return refuse(e.what());
  } catch (const std::bad_alloc&) {
    return refuse(too_large(options.model_file));
  } catch (const std::exception& e) {
    report("{}", e.what());
    return exit_failed;
  }
  const auto& signature = model->signature();
  const auto rows = request_rows(signature, input.size());
  if (!rows) return refuse(size_problem(options.input, input.size(), signature));
  local_request request(*model, *rows, std::as_bytes(std::span{input}));
  const machine_clock clock;
  duration took{};
  try {
    request.run();  // also prepares the model, so its time does not count
    const auto before = clock.now();
    request.run();
    took = clock.now() - before;
  } catch (const model_error& e) {
    return refuse(about_model(options.model_file, e.what()));
  } catch (const std::bad_alloc&) {
    return refuse(too_large(options.model_file));
  } catch (const std::exception& e) {
    report("{}", e.what());
    return exit_failed;
  }
  const auto output = request.values();
  std::ofstream out(options.output, std::ios::binary);
  out.write(reinterpret_cast<const char*>(output.data()), static_cast<std::streamsize>(output.size()));
  if (!out.flush()) {
    report("{}: cannot be written", options.output);
    return exit_failed;
  }
  if (options.json) {
    const nlohmann::ordered_json document{{"model", options.model_file},
                                          {"device", options.where.device},
                                          {"rows", *rows},
                                          {"inputs", tensors_json(request_inputs(signature, *rows))},
                                          {"outputs", tensors_json(request.outputs())},
                                          {"milliseconds", to_ms(took)}};
    fmt::print("{}\n", json_text(document, 2));
  } else {
    fmt::print("{}: {} rows in {:.3f} ms, {} bytes to {}\n", options.model_file, *rows, to_ms(took),
               output.size(), options.output);
  }
  return exit_done;
}

}  // namespace troupe
