// RecentCredentials: the last credentials for etcd that a node got. A guard tries them all, because
// etcd may not accept the newest credentials yet, or may never accept them.
//
// Plain value; one thread at a time.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "baton/options.h"

namespace baton::runtime {

EtcdCredentials CredentialsOf(const EtcdOptions& options);
/// Returns the options with these credentials. An empty field removes the value. All other options
/// stay, also the user's name.
EtcdOptions With(EtcdOptions options, const EtcdCredentials& credentials);

class RecentCredentials {
 public:
  /// The most credentials that are kept. Add drops the oldest. So if etcd refuses three new
  /// credentials in a row, the guard still has the credentials before them.
  static constexpr std::size_t kMaxKept = 4;

  explicit RecentCredentials(EtcdCredentials first) : all_{std::move(first)} {}

  /// Makes these credentials the newest, also if they are kept as older ones. False: nothing has
  /// changed, because these credentials are the newest already.
  bool Add(const EtcdCredentials& newest);
  /// All credentials that are kept, each once, oldest first. Never empty.
  const std::vector<EtcdCredentials>& all() const { return all_; }
  /// Combines each certificate (with its key and CA) of the kept credentials with each password of
  /// them. Reason: etcd may accept a new certificate and a new password at different times. Returns
  /// each combination once, at most kMaxKept * kMaxKept. Orders them by certificate and then by
  /// password, the newest first.
  std::vector<EtcdCredentials> Combinations() const;

 private:
  std::vector<EtcdCredentials> all_;
};

}  // namespace baton::runtime
