// A finished run as JSON and as a page.
#pragma once

#include <string>

#include "bench/machine.h"
#include "bench/report.h"

namespace baton::bench {

/// All values, medians, demands and the machine.
std::string ToJson(const Machine& machine, const Report& report);
/// bench/RESULTS.md.
std::string ToMarkdown(const Machine& machine, const Report& report, int repeat);
/// The end of an earlier page that bench/hardening wrote, and that a new page keeps; empty: it has
/// none.
std::string HardeningIn(const std::string& page);
/// The demands as lines for a terminal.
std::string ToText(const Report& report);

}  // namespace baton::bench
