#include "etcd/advice.h"

#include <array>
#include <charconv>
#include <optional>

namespace baton::etcd {
namespace {

/// Takes the number at the front of `rest` off it.
std::optional<unsigned> TakeNumber(std::string_view* rest) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(rest->data(), rest->data() + rest->size(), number);
  if (error != std::errc()) return std::nullopt;
  rest->remove_prefix(static_cast<std::size_t>(end - rest->data()));
  return number;
}

bool TakeDot(std::string_view* rest) {
  if (rest->empty() || rest->front() != '.') return false;
  rest->remove_prefix(1);
  return true;
}

struct Version {
  unsigned minor = 0;
  unsigned patch = 0;
};

/// nullopt: not a version of etcd 3. "-rc.1" may follow.
std::optional<Version> VersionIn(std::string_view text) {
  const auto major = TakeNumber(&text);
  if (!major || *major != 3 || !TakeDot(&text)) return std::nullopt;
  const auto minor = TakeNumber(&text);
  if (!minor || !TakeDot(&text)) return std::nullopt;
  const auto patch = TakeNumber(&text);
  if (!patch) return std::nullopt;
  return Version{*minor, *patch};
}

constexpr unsigned kNever = ~0U;

/// The first patch without the fault, of 3.4, 3.5, 3.6 and 3.7; earlier minor versions have it, and
/// later ones don't.
struct Fault {
  const char* words;
  std::array<unsigned, 4> fixed;
};
constexpr Fault kFaults[] = {
    {"renews leases that are gone (etcd 15247; Baton works around it)", {38, 23, 5, 0}},
    {"ends leases that others renew, loses deletions around a compaction, and shows events that go "
     "back in time (Baton works around it)",
     {kNever, 0, 0, 0}},
    {"lets watches fall silent (etcd 15220; Baton notices within 10 minutes)", {42, 28, 9, 0}},
    {"checks no permissions in nested transactions (CVE-2026-33343)", {42, 28, 9, 0}},
    {"tells everybody of all leases (CVE-2026-33413)", {42, 28, 9, 0}},
    {"lets a put use anybody's lease (CVE-2026-44283)", {44, 30, 11, 0}},
    {"checks no permissions of watches without an end (CVE-2026-73499)", {kNever, 33, 14, 1}},
};

bool Has(const Fault& fault, const Version& version) {
  if (version.minor < 4) return true;
  const unsigned of = version.minor - 4;
  return of < fault.fixed.size() && version.patch < fault.fixed.at(of);
}

}  // namespace

std::vector<std::string> FaultsOf(std::string_view version) {
  std::vector<std::string> faults;
  const auto found = VersionIn(version);
  if (!found) return faults;
  for (const Fault& fault : kFaults) {
    if (Has(fault, *found)) faults.emplace_back(fault.words);
  }
  constexpr unsigned kLosing = 5, kLostUntil = 3;
  if (found->minor == kLosing && found->patch < kLostUntil) {
    faults.emplace_back("loses data in a crash");
  }
  return faults;
}

}  // namespace baton::etcd
