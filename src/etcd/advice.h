// The versions of etcd that operators are advised to run, and the faults of other versions. The
// doctor and the log use these texts. A test compares them with the documentation
// (Doctor.AdvisesWhatTheDocumentationSays).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace baton::etcd {

/// The first versions without the faults that concern Baton. One more fault is in every version: if
/// a leader of etcd was stopped, it may end leases when it goes on (docs/etcd-versions.md).
inline constexpr const char* kAdvisedVersions = "3.5.33, 3.6.14, 3.7.1 or later";
/// How long etcd should keep old revisions: `--auto-compaction-mode=periodic` with this retention.
inline constexpr const char* kAdvisedRetention = "10m";

/// Returns the faults of a version of etcd ("3.5.9") that concern Baton, each in words for
/// messages: "loses data in a crash". Leaves out the fault that every version has. A suffix of the
/// version ("-rc.1") is ignored. Empty for the advised versions, and for texts that are no version
/// of etcd 3. docs/operating.md has the first version without each fault. Pure; any thread.
std::vector<std::string> FaultsOf(std::string_view version);

}  // namespace baton::etcd
