// RecentCredentials: the last credentials for etcd that a node got. etcd may not accept the newest
// ones yet, or never, and nobody tells a guard which ones the node still uses.
//
// Plain value; one thread at a time.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "baton/options.h"

namespace baton::runtime {

EtcdCredentials CredentialsOf(const EtcdOptions& options);
/// The options with these credentials.
EtcdOptions With(EtcdOptions options, const EtcdCredentials& credentials);

class RecentCredentials {
 public:
  /// If there are more, the oldest are dropped. So if etcd refuses three in a row, the guard still
  /// knows the ones before.
  static constexpr std::size_t kMaxKept = 4;

  explicit RecentCredentials(EtcdCredentials first) : all_{std::move(first)} {}

  /// Makes these the newest. False: they are the newest already, and nothing has changed.
  bool Add(const EtcdCredentials& newest);
  /// All that are kept, each once, oldest first.
  const std::vector<EtcdCredentials>& all() const { return all_; }
  /// Each of the certificates with each of the passwords, because etcd may accept a new certificate
  /// and a new password at different times. Newest first; at most kMaxKept * kMaxKept.
  std::vector<EtcdCredentials> Combinations() const;

 private:
  std::vector<EtcdCredentials> all_;
};

}  // namespace baton::runtime
