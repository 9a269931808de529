#include "etcd/decoded_answers.h"

#include <algorithm>
#include <utility>

namespace baton::etcd {
namespace {

using etcdserverpb::RangeResponse;
using etcdserverpb::WatchResponse;

constexpr std::size_t kFactsInAPart = 4096;

void Take(Decoded decoded, std::vector<Fact>& facts, std::uint64_t& strays) {
  if (decoded.fact) facts.push_back(std::move(*decoded.fact));
  if (decoded.stray) ++strays;
}

// A revision's events come in no promised order and are applied as a set. Sorts the revisions of
// one message, in case the server doesn't.
std::vector<DecodedRevision> DecodeEvents(const Keyspace& keyspace, const WatchResponse& message,
                                          std::uint64_t& strays) {
  std::vector<DecodedRevision> revisions;
  for (const auto& event : message.events()) {
    const Revision revision{event.kv().mod_revision()};
    if (revisions.empty() || revisions.back().revision != revision) {
      revisions.push_back({.revision = revision, .facts = {}});
    }
    const bool deleted = event.type() == etcdserverpb::Event::DELETE;
    Take(deleted ? keyspace.DecodeAbsent(event.kv().key(), revision) : keyspace.Decode(event.kv()),
         revisions.back().facts, strays);
  }
  std::stable_sort(revisions.begin(), revisions.end(),
                   [](const auto& a, const auto& b) { return a.revision < b.revision; });
  return revisions;
}

}  // namespace

DecodedPage DecodePage(const Keyspace& keyspace, const Reply<RangeResponse>& reply) {
  DecodedPage page;
  page.status = reply.status;
  const RangeResponse& answer = reply.response;
  page.revision = Revision{answer.header().revision()};
  page.cluster_id = answer.header().cluster_id();
  page.facts.reserve(static_cast<std::size_t>(answer.kvs_size()));
  for (const auto& stored : answer.kvs()) Take(keyspace.Decode(stored), page.facts, page.strays);
  page.more = answer.more() && answer.kvs_size() > 0;
  page.keys = static_cast<std::size_t>(std::max<std::int64_t>(answer.count(), answer.kvs_size()));
  if (page.more) page.last_key = answer.kvs(answer.kvs_size() - 1).key();
  return page;
}

DecodedMessage DecodeMessage(const Keyspace& keyspace, const WatchResponse& message) {
  DecodedMessage decoded;
  decoded.header = Revision{message.header().revision()};
  decoded.cluster_id = message.header().cluster_id();
  decoded.created = message.created();
  decoded.asked_for = message.watch_id() < 0;
  decoded.canceled = message.canceled();
  decoded.compact_revision = message.compact_revision();
  decoded.cancel_reason = message.cancel_reason();
  decoded.revisions = DecodeEvents(keyspace, message, decoded.strays);
  return decoded;
}

std::vector<DecodedMessage> InParts(DecodedMessage message) {
  std::vector<DecodedMessage> parts;
  std::vector<DecodedRevision> revisions = std::exchange(message.revisions, {});
  message.batch = revisions.size();
  std::size_t facts = 0;
  for (DecodedRevision& revision : revisions) {
    if (facts >= kFactsInAPart) {
      DecodedMessage part;
      part.cluster_id = message.cluster_id;
      part.batch = message.batch;
      part.more = true;
      part.revisions = std::exchange(message.revisions, {});
      parts.push_back(std::move(part));
      facts = 0;
    }
    facts += revision.facts.size();
    message.revisions.push_back(std::move(revision));
  }
  parts.push_back(std::move(message));
  return parts;
}

}  // namespace baton::etcd
