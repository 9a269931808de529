// The etcd that operators are advised to run. The doctor and the log give this advice, and a test
// compares it with the documentation (Doctor.AdvisesWhatTheDocumentationSays).
#pragma once

namespace baton::etcd {

/// The first versions without any fault that concerns Baton. The faults that Baton has to work
/// around were fixed in earlier versions: see HasKnownFaults.
inline constexpr const char* kAdvisedVersions = "3.5.30, 3.6.11 or later";
/// How long etcd should keep old revisions: `--auto-compaction-mode=periodic` with this retention.
inline constexpr const char* kAdvisedRetention = "10m";

}  // namespace baton::etcd
