#include "core/group_config.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "base/limits.h"

namespace baton::core {
namespace {

/// The words of the messages that depend on who reads the config.
struct Words {
  const char* update;
  const char* repair;
  const char* start;
  const char* rebuilt;
};
constexpr Words kNodeWords{"update this node",
                           "restore it, or delete it and the nodes will write it again",
                           "start the nodes", "stop all nodes and run batonctl recover"};
constexpr Words kRelayWords{"update this relay", "restore it, then start the relay again",
                            "start the relay", "see batonctl recover"};

Error Wrong(std::string message) {
  return {ErrorCode::kFailedPrecondition, "group config: " + std::move(message)};
}

/// A node knows the group's shape from its own options; a relay follows any sane one.
std::optional<Error> CheckNodeShape(const ConfigFact& config, const GroupShape& given) {
  if (config.shards != given.shards) {
    return Wrong("the group has " + std::to_string(config.shards) +
                 " shards, this node was given " + std::to_string(given.shards) +
                 "; the count is fixed at creation: give this node " +
                 std::to_string(config.shards) + " shards");
  }
  if (config.hash != given.hash) {
    return Wrong(std::string("the group uses hash '") + ToString(config.hash) +
                 "', this node was given '" + ToString(given.hash) +
                 "'; the hash is fixed at creation");
  }
  return std::nullopt;
}

std::optional<Error> CheckRelayShape(const ConfigFact& config, const GroupShape& followed) {
  if (config.shards == followed.shards && config.hash == followed.hash &&
      config.cluster_id == followed.cluster_id) {
    return std::nullopt;
  }
  return Error{ErrorCode::kFailedPrecondition,
               "the group was created again with other settings or in another etcd (it has " +
                   std::to_string(config.shards) + " shards, and had " +
                   std::to_string(followed.shards) + "); start the relay again"};
}

std::optional<Error> CheckCluster(const ConfigFact& config, std::uint64_t answering,
                                  const Words& words) {
  if (answering == 0 || config.cluster_id == answering) return std::nullopt;
  return Wrong("the group belongs to etcd cluster " + std::to_string(config.cluster_id) +
               ", but cluster " + std::to_string(answering) +
               " answers; check --etcd (if the cluster was rebuilt on purpose, " + words.rebuilt +
               ")");
}

}  // namespace

bool OfNewerSchema(const ConfigFact& config) {
  return config.present &&
         (config.readability == Readability::kNewerSchema || config.schema > kConfigSchema);
}

bool ClosedByRecovery(const ConfigFact& config) {
  return config.present && config.readability == Readability::kReadable && config.cluster_id == 0;
}

std::optional<Error> CheckGroupConfig(const ConfigFact& config, const GroupExpectation& expected) {
  const bool node = expected.reader == ConfigReader::kNode;
  BATON_CHECK(config.present && (expected.shape || !node));
  const Words& words = node ? kNodeWords : kRelayWords;
  if (OfNewerSchema(config)) {
    return Wrong("the key '" + expected.key + "' was written by a newer version (schema " +
                 std::to_string(config.schema) + ", this one knows " +
                 std::to_string(kConfigSchema) + "); " + words.update);
  }
  // A node compares the count with its own, so it needs no bound.
  const bool sane = node || (config.shards > 0 && config.shards <= kMaxShards);
  if (config.readability == Readability::kDamaged || !sane) {
    return Wrong("the key '" + expected.key + "' can't be read; " + words.repair);
  }
  if (ClosedByRecovery(config)) {
    return Wrong(
        std::string("closed by a recovery that has not finished: run the same batonctl recover "
                    "again, then ") +
        words.start);
  }
  if (node) {
    if (auto problem = CheckNodeShape(config, *expected.shape)) return problem;
    return CheckCluster(config, expected.answering, words);
  }
  if (auto problem = CheckCluster(config, expected.answering, words)) return problem;
  return expected.shape ? CheckRelayShape(config, *expected.shape) : std::nullopt;
}

}  // namespace baton::core
