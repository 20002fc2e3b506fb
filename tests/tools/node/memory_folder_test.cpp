#include "tools/node/memory_folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "gpu/common/model_error.hpp"

using namespace troupe;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view test_folders = "troupe-folder-test-", some_weights = "weights";

fs::path test_place(int which) {
  return memory_folder::parent() / fmt::format("{}{}-{}", test_folders, ::getpid(), which);
}

unpacked_files weights_file() {
  unpacked_files out;
  out.opened = "m.onnx";
  out.files.push_back({"m.onnx", std::as_bytes(std::span(some_weights))});
  return out;
}

std::string read_back(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator(in), {}};
}

const fs::file_time_type an_hour{std::chrono::hours(1)};

}  // namespace

TEST_CASE("memory folder: its files are there as long as it lives") {
  {
    const memory_folder folder(weights_file(), test_place(0), an_hour);
    CHECK(folder.opened() == test_place(0) / "m.onnx");
    CHECK(read_back(folder.opened()) == some_weights);
    CHECK(fs::last_write_time(folder.opened()) == an_hour);
    CHECK(fs::last_write_time(test_place(0)) == an_hour);
  }
  CHECK_FALSE(fs::exists(test_place(0)));
}

TEST_CASE("memory folder: one with files is not replaced") {
  const memory_folder folder(weights_file(), test_place(1), an_hour);
  CHECK_THROWS_AS(memory_folder(weights_file(), test_place(1), an_hour), model_error);
  CHECK(read_back(folder.opened()) == some_weights);
  for (const auto& entry : fs::directory_iterator(memory_folder::parent()))
    CHECK_FALSE(entry.path().filename().string().starts_with("." + std::string(test_folders)));
}

TEST_CASE("memory folder: a process that starts beside it never takes it for an abandoned one") {
  std::jthread starts([](const std::stop_token& stop) {
    while (!stop.stop_requested()) memory_folder::remove_abandoned(test_folders);
  });
  for (int i = 0; i < 3000; ++i) {
    const memory_folder folder(weights_file(), test_place(2), an_hour);
    REQUIRE(read_back(folder.opened()) == some_weights);
  }
}
