// Limits the texts and bytes that nodes keep of a record in etcd.
//
// Any writer of a key can put 1.5 MB into the key. Nodes copy texts of records into other records,
// logs, histories and answers. So each text of a record has a limit:
//  - A node's name must be valid (IsName). Otherwise the record or move is damaged.
//  - A member's text, or a cause's detail, counts as empty if it is not valid, for example too
//    long.
//  - Words for people are one line, and are cut (KeptWords). Such words say who asked, what was
//    ordered, or why a move is void.
//  - Unknown fields (KeptFields) and damaged records (KeptBytes) are limited to kMaxStoredText
//    bytes.
// So a transaction with the largest records is still smaller than etcd's limit.
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

/// The most bytes that a node keeps of unknown fields, or of a damaged record.
inline constexpr std::size_t kMaxStoredText = 4096;
/// The most bytes of words for people.
inline constexpr std::size_t kLongestWords = 256;

// Each record has at most 2 KiB besides: its names, words, detail, numbers and key.
static_assert(kMaxTxnOperations * (kMaxStoredText + 2048) < std::size_t{1536} * 1024);

/// Returns the words as one line of valid UTF-8, with at most kLongestWords bytes. Control
/// characters are escaped. A line that was cut ends with "...". KeptWords returns such a result
/// unchanged.
std::string KeptWords(std::string_view words);

/// Returns the record's unknown fields, serialized. Leaves out the unknown fields of nested
/// messages. Empty if the result would have more than kMaxStoredText bytes.
std::string KeptFields(const google::protobuf::Message& record);

/// Returns the first kMaxStoredText bytes of `value`, or all if there are fewer.
std::string KeptBytes(std::string_view value);

}  // namespace baton::etcd
