// A plug-in with a descriptor but without functions.
#include "plugins/descriptor.hpp"

extern "C" [[gnu::section(".troupe_plugin"), gnu::used,
             gnu::visibility("default")]] constinit const troupe::plugin_descriptor troupe_plugin =
    troupe::describe_plugin("broken", "1", 0);
