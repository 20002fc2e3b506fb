#!/usr/bin/env python3
"""With clang a fuzz target compiles only its SOURCES; without, it links its decoder's library. All objects that it
uses of that library must therefore be in SOURCES: sources_test.py MAP-OF-THE-LINKER SOURCES LINKED-LIBRARIES
(lists with commas)"""
import re
import sys
from pathlib import Path

link_map, sources, linked = Path(sys.argv[1]).read_text(errors="replace"), sys.argv[2].split(","), sys.argv[3].split(",")
root = Path(__file__).resolve().parents[2]

wrong = [f"{s}: there is no such file" for s in sources if not (root / s).exists()]
taken = set(re.findall(r"lib(troupe_\w+)\.a\(([^)]+)\.o\)", link_map))
compiled = {Path(s).name for s in sources}
compiled.add("event_order.cpp")  # replaces a function of UCX wherever the transport's library is linked
if not any(member in compiled for _, member in taken):
    wrong.append(f"{sys.argv[1]}: it does not say what is linked")
wrong += [f"{member} of {library} is needed, and missing among SOURCES in tests/fuzz/CMakeLists.txt"
          for library, member in sorted(taken) if library not in linked and member not in compiled]
print("\n".join(wrong))
sys.exit(bool(wrong))
