// Bounds the texts and bytes that are kept of a record.
//
// Everybody who may write one key of a group can put 1.5 MB into it. Nodes copy what they read into
// other records, into the log, into histories and into answers. So each text of a record has a
// bound:
//  - The name of a node must be valid (IsName). Otherwise the record or move is damaged.
//  - A member's text, or the detail of a cause, counts as empty if no version would write it.
//  - Words for people are one line, and are cut (KeptWords): who asked, what was ordered, why a
//    move is void.
//  - Bytes that this version can't read have a bound: fields that it does not know (KeptFields),
//    and a record that is damaged (KeptBytes).
// The largest transaction with the largest records is smaller than etcd allows. So no record keeps
// the other records of a transaction from being written.
//
// Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/writes.h"

namespace google::protobuf {
class Message;
}

namespace baton::etcd {

/// The most bytes that are kept of a record without being understood.
inline constexpr std::size_t kMaxStoredText = 4096;
/// The longest words for people, in bytes. Nodes write at most some 160.
inline constexpr std::size_t kLongestWords = 256;

// 2 KiB a record: its names, words, detail and numbers, and its key.
static_assert(kMaxTxnOperations * (kMaxStoredText + 2048) < std::size_t{1536} * 1024);

/// Returns the words as one line of valid UTF-8, of at most kLongestWords bytes; "..." ends a line
/// that was cut. KeptWords changes such a result no more.
std::string KeptWords(std::string_view words);

/// Returns the record's unknown fields, serialized, without those of nested messages. Empty if they
/// have more than kMaxStoredText bytes.
std::string KeptFields(const google::protobuf::Message& record);

/// Returns the first kMaxStoredText bytes.
std::string KeptBytes(std::string_view value);

}  // namespace baton::etcd
