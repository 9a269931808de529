// The versions of etcd that operators are advised to run, and the faults of other versions. The
// doctor and the log say this, and tests compare it with the documentation
// (Doctor.AdvisesWhatTheDocumentationSays).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace baton::etcd {

/// The first versions that have none of the faults that concern Baton, except one that every
/// version has: a leader of etcd that was stopped may end leases when it goes on
/// (docs/etcd-versions.md).
inline constexpr const char* kAdvisedVersions = "3.5.33, 3.6.14, 3.7.1 or later";
/// How long etcd should keep old revisions: `--auto-compaction-mode=periodic` with this retention.
inline constexpr const char* kAdvisedRetention = "10m";

/// The faults of this version of etcd ("3.5.9") that concern Baton, each as words for messages:
/// "loses data in a crash". docs/etcd-versions.md has the measured faults. docs/operating.md has
/// the first version without each fault. Empty for the advised versions, and for texts that are no
/// version of etcd 3. Pure; any thread.
std::vector<std::string> FaultsOf(std::string_view version);

}  // namespace baton::etcd
