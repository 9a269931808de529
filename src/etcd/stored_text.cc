#include "etcd/stored_text.h"

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include "base/escape.h"

namespace baton::etcd {

std::string KeptWords(std::string_view words) { return OneLineWithin(words, kLongestWords); }

std::string KeptFields(const google::protobuf::Message& record) {
  std::string bytes;
  record.GetReflection()->GetUnknownFields(record).SerializeToString(&bytes);
  return bytes.size() <= kMaxStoredText ? bytes : std::string();
}

std::string KeptBytes(std::string_view value) {
  return std::string(value.substr(0, kMaxStoredText));
}

}  // namespace baton::etcd
