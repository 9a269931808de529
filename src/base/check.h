// BATON_CHECK aborts the process if an invariant of our own is broken, and writes a line to stderr
// before. A dead process loses its lease and is safe; a confused leader is not. Every build
// evaluates the expression, exactly once. Any thread. Don't use BATON_CHECK for input from the
// network, etcd, files or people.
//
// In comments, REQUIRES says what the caller must ensure. "REQUIRES (checked)" means that a
// BATON_CHECK checks the requirement. So a caller that breaks it ends the process. Without
// "(checked)", the requirement may not be checked. Then the effects of breaking it are undefined,
// unless the comment says what happens.
#pragma once

namespace baton {
[[noreturn]] void CheckFailed(const char* expression, const char* file, int line);
}  // namespace baton

#define BATON_CHECK(expression) \
  ((expression) ? static_cast<void>(0) : ::baton::CheckFailed(#expression, __FILE__, __LINE__))
