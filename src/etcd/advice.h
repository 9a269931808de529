// The etcd that operators are advised to run. The doctor and the log say this, and a test compares
// the documentation (Doctor.AdvisesWhatTheDocumentationSays).
#pragma once

namespace baton::etcd {

/// The first versions without any fault that concerns Baton. Those that Baton has to work around
/// end earlier, see HasKnownFaults.
inline constexpr const char* kAdvisedVersions = "3.5.30, 3.6.11 or later";
/// How long etcd keeps old revisions: `--auto-compaction-mode=periodic` with this retention.
inline constexpr const char* kAdvisedRetention = "10m";

}  // namespace baton::etcd
