// Decodes etcd's answers about the group into facts. Pure: the transport's threads do it, so that
// the loop decodes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/facts.h"
#include "etcd/keyspace.h"
#include "etcd/transport.h"

namespace baton::etcd {

/// A page of a read.
struct DecodedPage {
  CallStatus status;
  Revision revision;  ///< the header's
  std::uint64_t cluster_id = 0;
  std::vector<Fact> facts;
  std::uint64_t strays = 0;
  std::string last_key;
  bool more = false;
};

struct DecodedRevision {
  Revision revision;
  std::vector<Fact> facts;
};

/// A watch's message, or a part of one.
struct DecodedMessage {
  Revision header;
  std::uint64_t cluster_id = 0;
  bool created = false;
  bool asked_for = false;  ///< the answer to a progress request
  bool canceled = false;
  std::int64_t compact_revision = 0;
  std::string cancel_reason;
  std::vector<DecodedRevision> revisions;  ///< ascending
  std::size_t batch = 0;                   ///< how many revisions the whole message has
  std::uint64_t strays = 0;
  bool more = false;  ///< another part of the same message follows
};

DecodedPage DecodePage(const Keyspace& keyspace, const Reply<etcdserverpb::RangeResponse>& reply);

DecodedMessage DecodeMessage(const Keyspace& keyspace, const etcdserverpb::WatchResponse& message);

/// A message can hold the changes of a whole group. In parts of whole revisions, they don't hold up
/// everything else on the loop.
std::vector<DecodedMessage> InParts(DecodedMessage message);

}  // namespace baton::etcd
