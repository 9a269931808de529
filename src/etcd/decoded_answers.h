// Decodes etcd's answers about the group into facts. Pure functions; any thread. The transport's
// threads call these functions, so that the loop decodes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/facts.h"
#include "etcd/keyspace.h"
#include "etcd/transport.h"

namespace baton::etcd {

/// A page of a read of the group. Some keys give neither a fact nor a stray: see Decoded.
struct DecodedPage {
  CallStatus status;
  Revision revision;  ///< of the answer's header
  std::uint64_t cluster_id = 0;
  std::vector<Fact> facts;
  std::uint64_t strays = 0;  ///< the number of unknown keys (Decoded::stray)
  std::string last_key;      ///< the page's last key; empty if `more` is false
  bool more = false;         ///< another page follows; always false if the page has no keys
  std::size_t keys = 0;      ///< the number of keys on this page and on all later pages
};

/// The facts of one revision in a watch's message, in no particular order. A deleted key has a fact
/// whose `present` is false. `facts` is empty if the revision changed only keys without facts
/// (Decoded::fact).
struct DecodedRevision {
  Revision revision;
  std::vector<Fact> facts;
};

/// A watch's message, or a part of one.
struct DecodedMessage {
  Revision header;  ///< the header's: the revision of the store; the watch may be behind
  std::uint64_t cluster_id = 0;
  // If `canceled` is true, ignore `created` and `asked_for`: a refusal may set both.
  bool created = false;    ///< the watch was created
  bool asked_for = false;  ///< the answer to a progress request
  bool canceled = false;   ///< etcd has ended the watch, or refused to create it
  /// The revision up to which etcd has compacted, if etcd ended or refused the watch because the
  /// watch's next revision was compacted. Otherwise 0.
  std::int64_t compact_revision = 0;
  std::string cancel_reason;
  std::vector<DecodedRevision> revisions;  ///< ascending
  std::size_t batch = 0;     ///< how many revisions the whole message has; set by InParts
  std::uint64_t strays = 0;  ///< the number of changes of unknown keys (Decoded::stray)
  bool more = false;         ///< another part of the same message follows
};

/// If the call failed, only `status` is set.
DecodedPage DecodePage(const Keyspace& keyspace, const Reply<etcdserverpb::RangeResponse>& reply);

DecodedMessage DecodeMessage(const Keyspace& keyspace, const etcdserverpb::WatchResponse& message);

/// Divides a message into parts of whole revisions, in their order. So a large message does not
/// hold up other work on the loop. A part ends after the revision with which it has 4,096 facts or
/// more; the last part may have fewer. Returns at least one part. Each part has its own revisions,
/// `cluster_id`, `batch` and `more`. The last part alone has the message's other fields.
std::vector<DecodedMessage> InParts(DecodedMessage message);

}  // namespace baton::etcd
