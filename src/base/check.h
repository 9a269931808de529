// BATON_CHECK writes a line to stderr and aborts the process if an invariant of our own is broken.
// A dead process loses its lease and is safe; a confused leader is not. Every build evaluates the
// expression, exactly once. Any thread. Don't use it for input from the network, etcd, files or
// people.
//
// In comments, REQUIRES says what the caller must ensure. "REQUIRES (checked)" means that a
// BATON_CHECK checks it, so a caller that breaks it ends the process. Without "(checked)" there may
// be no check; then the effects of a broken requirement are undefined, unless the comment says what
// happens.
#pragma once

namespace baton {
[[noreturn]] void CheckFailed(const char* expression, const char* file, int line);
}  // namespace baton

#define BATON_CHECK(expression) \
  ((expression) ? static_cast<void>(0) : ::baton::CheckFailed(#expression, __FILE__, __LINE__))
