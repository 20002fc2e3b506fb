// Standard input, output and error of a process that goes on when nobody reads what it says.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace troupe {

/// Puts closed descriptors 0 to 2 on /dev/null: otherwise the next file or socket opened would get one of
/// them, and messages would be written into it. Call it before anything is opened.
void open_standard_streams();

/// Writes a line to standard error. Never throws: with a full disk or a closed pipe the line is lost.
void report_line(std::string_view line) noexcept;
template <class... Args>
void report(fmt::format_string<Args...> format, Args&&... args) {
  report_line(fmt::format(format, std::forward<Args>(args)...));
}

/// The latest reported lines, 4 KiB at most.
std::string reported_lines();

/// Writes a command's JSON document to standard output, where it is the only one: main adds none about the
/// lines that were reported.
void print_document(std::string_view text);
bool has_printed_document();

/// Writes what is buffered for standard output. Returns why some of what was printed is lost; empty: nothing
/// is.
std::string flush_standard_output();

}  // namespace troupe
