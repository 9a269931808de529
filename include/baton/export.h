// BATON_EXPORT marks the symbols that the shared library exports. All other symbols are hidden.
#pragma once

#if __cplusplus <= 201703L
#error "Baton's headers need C++20: compile with -std=c++20"
#endif

#define BATON_EXPORT __attribute__((visibility("default")))
