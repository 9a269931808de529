// What the product logs in a simulation: part of a verbose run's output, and
// nothing otherwise.
#pragma once

namespace baton::sim {

/// From now on records go to stdout where `shown`, and nowhere where not. Other
/// words on stderr, a broken invariant's for example, are shown in any case.
/// Once a process, before anything is logged.
void QuietLog(bool shown);

}  // namespace baton::sim
