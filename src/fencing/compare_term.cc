#include "baton/fencing.h"
#include "etcd/keyspace.h"

namespace baton {

Result<TermCompare> CompareTerm(std::string_view prefix, std::string_view group, ShardId shard,
                                Term term) {
  if (const Status valid = etcd::Keyspace::Validate(prefix, group); !valid) return valid.error();
  if (term.value <= 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "a compare without a term: expected the term of the leadership under which the "
                 "transaction was decided"};
  }
  return TermCompare{.key = etcd::Keyspace(prefix, group).ShardKey(shard),
                     .mod_revision = term.value};
}

}  // namespace baton
