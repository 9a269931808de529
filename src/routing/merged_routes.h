// MergedRoutes: what a router knows, merged from the messages of one server after another.
//
// A pure state machine, one thread at a time. The rules are those of proto/baton/v1/routing.proto:
// of two routes of a shard the one with the greater revision stays, of equal ones the later; an
// older one of the same term and leader tells only whether it is activating or suspended. What was
// known as that reads as led once another stream begins, since only the node itself could tell when
// it ended. A message is checked whole before any of it counts.
//
// Leaders (node and address) are interned: their names never move, and stay for good. That is some
// 100 bytes for each address that a node ever had, at most kMostLeaders.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "baton/result.h"
#include "baton/v1/routing.pb.h"
#include "routing/route_table.h"

namespace baton::routing {

inline constexpr std::uint32_t kMostShards = 1'000'000;
inline constexpr std::size_t kMostLeaders = 1'000'000;

/// Nobody's mapping and nobody's routes, until a first message came.
class MergedRoutes {
 public:
  explicit MergedRoutes(std::string group) : group_(std::move(group)) {}

  /// A new stream: its first message is the next one. Returns what to ask for.
  v1::WatchRoutesRequest BeginStream();

  /// Merges one message. kInvalidArgument: it can't be what the group's nodes say; kNotFound: it is
  /// another group's; kFailedPrecondition: it maps keys another way than the routes held. The line
  /// reads well after the name of who sent it; nothing of the message counts then.
  Status Apply(const v1::WatchRoutesResponse& message);

  bool mapped() const { return !entries_.empty(); }
  /// REQUIRES (these three): mapped().
  KeyMapping mapping() const { return {static_cast<std::uint32_t>(entries_.size()), hash_}; }
  const RouteEntry& entry(ShardId shard) const { return entries_[shard.value]; }
  /// Grows with each change of the shard's route.
  std::uint64_t changes(ShardId shard) const { return changes_[shard.value]; }

  /// All routes were read from the present store at least once.
  bool complete() const { return complete_to_ > 0; }
  Revision revision() const { return Revision{complete_to_}; }
  /// Of the present stream: whether its first message came, and whether it went on where the last
  /// one ended.
  bool begun() const { return begun_; }
  bool resumed() const { return resumed_; }

  const Leader& leader(std::uint32_t index) const { return leaders_[index]; }
  /// The routes as they are now, for readers on any thread.
  std::shared_ptr<const RouteTable> Table();

 private:
  Status CheckFirst(const v1::WatchRoutesResponse& message) const;
  Status CheckRoutes(const v1::WatchRoutesResponse& message) const;
  void TakeFirst(const v1::WatchRoutesResponse& message);
  void Take(const v1::Route& route, const std::vector<std::uint32_t>& leaders);
  void TakeState(const v1::Route& route, const std::vector<std::uint32_t>& leaders);
  std::uint32_t Intern(const v1::RouteNode& node);
  void Set(std::size_t shard, const RouteEntry& entry);

  const std::string group_;
  HashFunction hash_ = HashFunction::kMurmur2;
  std::uint64_t cluster_ = 0;
  std::int64_t complete_to_ = 0;
  bool begun_ = false;
  bool resumed_ = false;

  // By shard.
  std::vector<RouteEntry> entries_;
  std::vector<std::int64_t> revisions_;
  std::vector<std::uint64_t> changes_;

  // Names stay where they are in memory; the table's list is made anew when one is added.
  std::deque<std::pair<std::string, std::string>> names_;
  std::unordered_map<std::string, std::uint32_t> index_;
  std::vector<Leader> leaders_;
  std::shared_ptr<const std::vector<Leader>> published_leaders_;
};

}  // namespace baton::routing
