// EtcdModel's restore from a backup.
#include <utility>

#include "sim/etcd_model.h"

namespace baton::sim {

void EtcdModel::Restore(Backup backup) {
  for (int member = 0; member < kMembers; ++member) SetUp(member, false);
  proposals_.clear();
  limbo_.clear();
  store_ = std::move(backup.store);
  TeachStore();
  leases_ = std::move(backup.leases);
  raft_term_ = kFirstRaftTerm - 1;  // the election begins the first
  for (Member& member : members_) {
    member = Member{};
    member.up = false;
    member.raft_term = raft_term_;
    member.revision = store_.revision();
  }
  for (int member = 0; member < kMembers; ++member) SetUp(member, true);
}

}  // namespace baton::sim
