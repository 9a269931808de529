// The product's log in a simulation: shown in a verbose run, and dropped otherwise.
#pragma once

namespace baton::sim {

/// From now on records go to stdout if `shown`, and are dropped if not. Other words on stderr, for
/// example of a broken invariant, are always shown. Call it once in a process, before anything is
/// logged.
void QuietLog(bool shown);

}  // namespace baton::sim
