#include "tools/common/input_file.hpp"

#include <sys/stat.h>

#include <thread>

#include "tests/temporary_folder.hpp"

using namespace troupe;

TEST_CASE("input_file: all bytes of a file, or of a pipe") {
  const temporary_folder folder;
  std::string content(200'000, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7);
  for (const auto size : {0, 1, 65'536, 200'000}) {
    const auto read = read_input_file(folder.write("x.bin", content.substr(0, static_cast<size_t>(size))));
    CHECK(read.error == "");
    CHECK(std::string(read.bytes.begin(), read.bytes.end()) == content.substr(0, static_cast<size_t>(size)));
  }
  const auto pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] { folder.write("pipe", content); });
  CHECK(read_input_file(pipe).bytes.size() == content.size());
  writer.join();
}

TEST_CASE("input_file: an unreadable file is reported with the reason") {
  const temporary_folder folder;
  CHECK(read_input_file(folder / "nothing").error == "cannot be read: No such file or directory");
  CHECK(read_input_file(folder.path).error == "cannot be read: it is a directory");
  CHECK(read_input_file("/dev/zero").error == "cannot be read: it is a device");
}
