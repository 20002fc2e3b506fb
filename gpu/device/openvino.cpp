#include "gpu/device/openvino.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <string_view>

#include "gpu/checkpoint/encoder_folder.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/device/encoder_source.hpp"
#include "gpu/device/openvino_component.hpp"
#include "gpu/encoder/onnx_encoder.hpp"
#include "gpu/onnx/fixed_inputs.hpp"
#include "gpu/onnx/loader.hpp"
#include "gpu/onnx/node_names.hpp"
#include "messages/common/version.hpp"

namespace troupe {
namespace {

constexpr auto library = "libtroupe_openvino.so";

/// Empty: it is not installed.
std::filesystem::path find_component() {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return {};
  const auto folder = program.parent_path();
  // of a build, of a bundle, and of an installation
  for (const auto& place : std::array{folder, folder.parent_path(), folder.parent_path() / "lib" / "troupe",
                                      folder.parent_path() / TROUPE_LIBDIR / "troupe"})
    if (std::filesystem::exists(place / library, failed)) return place / library;
  return {};
}

const openvino_component& open_component() {
  const auto file = find_component();
  if (file.empty())
    throw model_error(
        fmt::format("{} is not installed; run tools/install and build again, or unpack the bundle "
                    "troupe-openvino beside the program",
                    library));
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw model_error(fmt::format("{}: cannot be loaded: {}", file.string(), dlerror()));
  const auto entry = reinterpret_cast<openvino_entry_function>(dlsym(handle, openvino_entry));
  if (entry == nullptr) throw model_error(fmt::format("{}: is not the component of Troupe", file.string()));
  const auto& component = *entry();
  if (component.troupe != version || component.compiler != __VERSION__)
    throw model_error(
        fmt::format("{}: was built for Troupe {} by compiler {}, not for {} by {}; build both together",
                    file.string(), component.troupe, component.compiler, version, __VERSION__));
  return component;
}

const openvino_component& openvino() {
  static const auto& component = open_component();  // tried again after an exception
  return component;
}

/// A source as the component takes it.
struct prepared_source {
  model_source source;
  std::string content;
};

prepared_source prepare(const model_source& source) {
  if (is_encoder_folder(source.path)) {
    const auto [config, tokens] = read_encoder_source(source);
    prepared_source out{source, onnx_encoder_content(config, tokens)};
    out.source.path = config.onnx;
    out.source.shapes.clear();  // the content says them
    return out;
  }
  return {source,
          source.constants.empty() ? "" : onnx::fix_inputs(source.path, source.constants, source.shapes)};
}

/// `use()`; its model_error names nodes as the file does.
template <class Use>
auto with_names_of_file(const std::string& file, Use use) {
  try {
    return use();
  } catch (const unreadable_model&) {
    throw;
  } catch (const model_error& e) {
    throw model_error(onnx::with_node_names(e.what(), file));
  }
}

}  // namespace

bool openvino_is_installed() { return !find_component().empty(); }

model_signature openvino_signature(const model_source& source) {
  const auto& component = openvino();
  const auto [prepared, content] = prepare(source);
  if (content.empty()) onnx::check_file(prepared.path);
  return with_names_of_file(prepared.path, [&] { return component.signature(prepared, content); });
}

model_maker on_openvino(int threads) {
  return [threads](const model_source& source) {
    const auto [prepared, content] = prepare(source);
    return with_names_of_file(prepared.path, [&] { return openvino().open(prepared, content, threads); });
  };
}

}  // namespace troupe
