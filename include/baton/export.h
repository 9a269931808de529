// BATON_EXPORT marks the functions and classes that the shared library offers to programs. Members
// of a marked class are offered, too. All other functions and classes of Baton are hidden. The
// library also exports instances of other libraries' templates: don't rely on these instances. See
// baton/version.h on the ABI.
#pragma once

#if __cplusplus <= 201703L
#error "Baton's headers need C++20: compile with -std=c++20"
#endif

#define BATON_EXPORT __attribute__((visibility("default")))
