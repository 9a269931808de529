// BATON_EXPORT marks the symbols that the shared library exports. All other symbols are hidden.
#pragma once

#define BATON_EXPORT __attribute__((visibility("default")))
