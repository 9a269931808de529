// Takes out of answers what must differ between two etcds, and nothing else: the first revision,
// and which member answered.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>

#include "etcd/transport.h"

namespace baton::sim {

/// Adds `offset` to every revision in the message. 0 means "none" or "now", and stays.
void Shift(google::protobuf::Message& message, std::int64_t offset);

/// An answer in words, with revisions counted from `offset`. Cluster, member and raft term are
/// given as 1 if they are set. Changes the message.
std::string NormalText(google::protobuf::Message& message, std::int64_t offset);
template <typename Message>
std::string Normal(Message message, std::int64_t offset) {
  return NormalText(message, offset);
}

/// A call's status in words: without the endpoint's address.
std::string Normal(const etcd::CallStatus& status, std::int64_t offset);

}  // namespace baton::sim
