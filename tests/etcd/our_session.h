// The group, and the node's session, of the tests that write.
#pragma once

#include "base/writes.h"
#include "etcd/keyspace.h"

namespace baton::etcd {

inline const Keyspace kKeys(kDefaultPrefix, "orders");
inline const SessionGuard kUs{
    .node = "n1", .session = SessionId{77}, .create_revision = Revision{5}};

}  // namespace baton::etcd
