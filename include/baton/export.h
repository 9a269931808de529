// BATON_EXPORT marks what the shared library offers to programs. Other functions and classes of
// Baton are hidden, unless they are inside a marked class. The library also exports instances of
// templates of other libraries; don't rely on these. See baton/version.h on the ABI.
#pragma once

#if __cplusplus <= 201703L
#error "Baton's headers need C++20: compile with -std=c++20"
#endif

#define BATON_EXPORT __attribute__((visibility("default")))
