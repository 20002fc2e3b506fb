// Drives a fuzz target without libFuzzer: every file of the corpus unchanged, then seeded mutations of it.
// Takes libFuzzer's flags:
//
//   x_fuzz [-max_total_time=SECONDS] [-runs=N] [-seed=S] [-max_len=BYTES] CORPUS...
//
// Run i of seed s always has the same input. The input of a crash, abort or hang is saved in
// crash-<seed>-<run>; `x_fuzz crash-...` runs it again.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "messages/common/time.hpp"
#include "policies/common/random.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using namespace troupe;
using input = std::string;

struct options {
  int64_t max_total_time = 0;  ///< 0: no limit
  int64_t runs = -1;           ///< of mutations; -1: no limit if there is a time limit
  int64_t seed = 1;
  int64_t max_len = 1 << 20;
  std::vector<std::string> corpus;
};

// Saved by a dying process.
const input* current = nullptr;
std::atomic<uint64_t> run_number{0};
char crash_file[64];

void keep_current_input() {
  if (current == nullptr) return;
  const int file = open(crash_file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return;
  const auto written = write(file, current->data(), current->size());
  constexpr std::string_view note = "the input is in ";
  if (written >= 0 && write(STDERR_FILENO, note.data(), note.size()) > 0 &&
      write(STDERR_FILENO, crash_file, std::string_view(crash_file).size()) > 0)
    (void)!write(STDERR_FILENO, "\n", 1);
  close(file);
}

void on_crash(int signal_number) {
  keep_current_input();
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

/// Every ten seconds; an input that takes longer is reported as a hang.
void on_timer(int) {
  static uint64_t last = ~uint64_t{0};
  const auto now = run_number.load();
  if (now == last) {
    constexpr std::string_view note = "an input takes longer than ten seconds\n";
    (void)!write(STDERR_FILENO, note.data(), note.size());
    abort();
  }
  last = now;
}

void abort_if_inputs_change() {
  for (int s : {SIGABRT, SIGFPE, SIGILL}) signal(s, on_crash);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(keep_current_input);
  } else {
    for (int s : {SIGSEGV, SIGBUS}) signal(s, on_crash);
  }
  signal(SIGALRM, on_timer);
  const itimerval every{{10, 0}, {10, 0}};
  setitimer(ITIMER_REAL, &every, nullptr);
}

void run_one(const input& x, uint64_t number, int64_t seed) {
  fmt::format_to_n(crash_file, sizeof crash_file - 1, "crash-{}-{}", seed, number);
  current = &x;
  run_number = number;
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(x.data()), x.size());
  current = nullptr;
}

/// A random position in `x`, its end included.
size_t place(const input& x, random_stream& random) { return random.below(x.size() + 1); }

void change_number(input& x, random_stream& random) {
  constexpr std::string_view extremes[] = {
      "0",    "-1",     "1e308",      "-0.0",       "9223372036854775807",
      "NaN",  "1e-320", "4294967296", "2147483648", "18446744073709551616",
      "null", "0.5",    "[]",         "\"\"",       "99999999999999999999"};
  auto at = x.find_first_of("0123456789", place(x, random));
  if (at == input::npos) at = x.find_first_of("0123456789");
  if (at == input::npos) return;
  const auto end = std::min(x.find_first_not_of("0123456789.eE+-", at), x.size());
  x.replace(at, end - at, extremes[random.below(std::size(extremes))]);
}

void mutate_once(input& x, const std::vector<input>& corpus, random_stream& random) {
  constexpr uint8_t edges[] = {0x00, 0x01, 0x7f, 0x80, 0xff, '"', '\\', '[', '{', '\n', '=', ','};
  const auto at = place(x, random);
  const auto length = std::min<size_t>(1 + random.below(1u << random.below(9)), x.size() - at);
  switch (random.below(8)) {
    case 0:
      if (at < x.size()) x[at] = static_cast<char>(x[at] ^ (1u << random.below(8)));
      break;
    case 1:
      if (at < x.size()) x[at] = static_cast<char>(edges[random.below(std::size(edges))]);
      break;
    case 2: x.insert(at, 1, static_cast<char>(random())); break;
    case 3: x.erase(at, length); break;
    case 4: x.insert(place(x, random), x.substr(at, length)); break;
    case 5: change_number(x, random); break;
    case 6: x.resize(at); break;
    default: {  // a part of another input, inserted or overwriting
      const auto& other = corpus[random.below(corpus.size())];
      const auto from = place(other, random);
      const auto piece = other.substr(from, 1 + random.below(64));
      x.replace(at, random.below(2) == 0 ? 0 : std::min(piece.size(), x.size() - at), piece);
    }
  }
}

/// Nothing if a flag is unknown or has no number.
bool parse(int argc, char** argv, options& o) {
  const std::pair<std::string_view, int64_t*> flags[] = {{"-max_total_time=", &o.max_total_time},
                                                         {"-runs=", &o.runs},
                                                         {"-seed=", &o.seed},
                                                         {"-max_len=", &o.max_len}};
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with('-')) {
      o.corpus.emplace_back(word);
      continue;
    }
    const auto* flag = std::find_if(std::begin(flags), std::end(flags),
                                    [&](const auto& f) { return word.starts_with(f.first); });
    if (flag == std::end(flags)) return false;
    const auto* from = word.data() + flag->first.size();
    const auto* to = word.data() + word.size();
    if (const auto [end, error] = std::from_chars(from, to, *flag->second); error != std::errc{} || end != to)
      return false;
  }
  return true;
}

std::vector<input> read_corpus(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const auto& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());  // the order of directory entries is unspecified
  std::vector<input> corpus;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw std::runtime_error(fmt::format("{}: cannot be read", file.string()));
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>{});
  }
  return corpus;
}

}  // namespace

int main(int argc, char** argv) try {
  options o;
  if (!parse(argc, argv, o)) {
    fmt::print(stderr, "usage: {} [-max_total_time=SECONDS] [-runs=N] [-seed=S] [-max_len=BYTES] CORPUS...\n",
               argv[0]);
    return 2;
  }
  auto corpus = read_corpus(o.corpus);
  abort_if_inputs_change();
  uint64_t number = 0;
  for (const auto& x : corpus) run_one(x, number++, o.seed);
  if (corpus.empty()) corpus.emplace_back();

  const machine_clock time;
  const auto end = o.max_total_time > 0 ? time.now() + std::chrono::seconds(o.max_total_time) : never;
  const int64_t runs = o.runs >= 0 ? o.runs : o.max_total_time > 0 ? INT64_MAX : 0;
  int64_t run = 0;
  for (; run < runs && time.now() < end; ++run) {
    random_stream random(static_cast<uint64_t>(o.seed), "fuzz", static_cast<uint64_t>(run));
    auto x = corpus[random.below(corpus.size())];
    for (auto times = 1 + random.below(6); times > 0; --times) mutate_once(x, corpus, random);
    x.resize(std::min(x.size(), static_cast<size_t>(o.max_len)));
    run_one(x, number++, o.seed);
  }
  fmt::print("{} inputs of the corpus, {} mutations of them with seed {}\n",
             o.corpus.empty() ? 0 : corpus.size(), run, o.seed);
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
