// RecentCredentials: the last credentials for etcd that a node got. etcd may not accept the newest
// credentials yet, or may never accept them. Nobody tells a guard which credentials the node still
// uses.
//
// Plain value; one thread at a time.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "baton/options.h"

namespace baton::runtime {

EtcdCredentials CredentialsOf(const EtcdOptions& options);
/// Returns the options with all of these credentials; an empty one removes the value. All else
/// stays, also the user's name.
EtcdOptions With(EtcdOptions options, const EtcdCredentials& credentials);

class RecentCredentials {
 public:
  /// The most credentials that are kept; older ones are dropped. So if etcd refuses three new
  /// credentials in a row, the guard still knows those before them.
  static constexpr std::size_t kMaxKept = 4;

  explicit RecentCredentials(EtcdCredentials first) : all_{std::move(first)} {}

  /// Makes these credentials the newest, also if they are kept already as older ones. False: they
  /// are the newest already, and nothing has changed.
  bool Add(const EtcdCredentials& newest);
  /// All credentials that are kept, each once, oldest first. Never empty.
  const std::vector<EtcdCredentials>& all() const { return all_; }
  /// Combines the certificates (with key and CA) of each of the kept credentials with the password
  /// of each, because etcd may accept a new certificate and a new password at different times. Each
  /// combination once, those with the newest certificate first, and of these the newest password
  /// first; at most kMaxKept * kMaxKept.
  std::vector<EtcdCredentials> Combinations() const;

 private:
  std::vector<EtcdCredentials> all_;
};

}  // namespace baton::runtime
