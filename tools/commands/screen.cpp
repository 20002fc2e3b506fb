#include "tools/commands/screen.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace troupe {
namespace {

// State that signal handlers may access.
volatile sig_atomic_t signalled = 0;
termios usual_terminal{};
bool has_usual = false;

void on_signal(int) { signalled = 1; }

void catch_signals() {
  signalled = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;  // no SA_RESTART: poll returns on a signal
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) sigaction(s, &action, nullptr);
}

void release_signals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) sigaction(s, &action, nullptr);
}

void put(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

screen::screen(bool full) : full_(full && isatty(STDOUT_FILENO) != 0) {
  catch_signals();
  if (!full_) return;
  if (tcgetattr(STDIN_FILENO, &usual_terminal) == 0) {
    has_usual = true;
    auto raw = usual_terminal;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  put("\x1b[?1049h\x1b[?25l");  // alternate screen, no cursor
}

screen::~screen() {
  release_signals();
  if (!full_) return;
  put("\x1b[?25h\x1b[?1049l");
  if (has_usual) tcsetattr(STDIN_FILENO, TCSANOW, &usual_terminal);
  has_usual = false;
}

void screen::show(const std::string& page) {
  if (!full_) return put(page);
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) size = {24, 80, 0, 0};
  std::string out = "\x1b[H";
  std::string_view rest = page;
  for (unsigned line = 0; line + 1 < size.ws_row && !rest.empty(); ++line) {
    const auto end = rest.find('\n');
    out += rest.substr(0, std::min<size_t>(end, size.ws_col));
    out += "\x1b[K\r\n";
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  put(out + "\x1b[J");
}

bool screen::wait(duration d) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::clamp<duration>(d, 0s, 24h)).count();
  if (signalled != 0) return false;
  const int ready = poll(&input, full_ ? 1 : 0, static_cast<int>(ms));
  if (signalled != 0) return false;
  if (ready > 0) {
    char key = 0;
    if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q') return false;
  }
  return true;
}

}  // namespace troupe
